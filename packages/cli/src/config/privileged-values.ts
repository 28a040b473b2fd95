import { leadsInto } from 'temporal-file-conversion/storage';
import { privilegeOf } from './schema';
import { isLoopback } from 'temporal-file-conversion/network';
import { isLoopbackAddress } from './value-types';

/** A configuration value that opens a way in, or a way out of the file's folder or this machine. */
export interface PrivilegedValue {
  key: string;
  value: string;
}

/** Those of the keys whose value opens something. Paths are absolute. */
export async function privilegedValues(
  values: object,
  { folder, keys }: { folder: string; keys: readonly string[] },
): Promise<PrivilegedValue[]> {
  const privileged: PrivilegedValue[] = [];
  for (const key of keys) {
    const value = key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown>)[name], values);
    const opened = await openedBy(key, value, folder);
    if (opened !== undefined) privileged.push({ key, value: opened });
  }
  return privileged;
}

async function openedBy(key: string, value: unknown, folder: string): Promise<string | undefined> {
  const shown = Array.isArray(value) ? value.join(', ') : String(value);
  switch (privilegeOf(key)) {
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
