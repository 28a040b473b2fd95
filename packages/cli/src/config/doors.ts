import { leadsInto } from 'temporal-file-conversion/storage';
import { doorOf } from './schema';
import { isLoopback } from 'temporal-file-conversion/network';
import { isLoopbackAddress } from './value-types';

/** A configuration value that opens a way in, or a way out of the file's folder or this machine. */
export interface Door {
  key: string;
  value: string;
}

/** Those of the keys that are doors and whose value opens something. Paths are absolute. */
export async function doorsOf(
  values: object,
  { folder, keys }: { folder: string; keys: readonly string[] },
): Promise<Door[]> {
  const doors: Door[] = [];
  for (const key of keys) {
    const value = key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown>)[name], values);
    const opened = await openedBy(key, value, folder);
    if (opened !== undefined) doors.push({ key, value: opened });
  }
  return doors;
}

async function openedBy(key: string, value: unknown, folder: string): Promise<string | undefined> {
  const shown = Array.isArray(value) ? value.join(', ') : String(value);
  switch (doorOf(key)) {
    case undefined:
      return undefined;
    case 'address':
      return isOnThisMachine(shown) ? undefined : shown;
    case 'secret':
      return shown;
    case 'trust':
      return shown === '' || shown === 'off' ? undefined : shown;
    case 'path':
      return (await leadsInto([folder], shown)) ? undefined : shown;
  }
}

function isOnThisMachine(address: string): boolean {
  if (/^https?:/.test(address)) return isLoopback(new URL(address).hostname);
  return isLoopback(address) || isLoopbackAddress(address);
}
