import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { doorOf } from './schema';
import { isLoopback, isLoopbackAddress } from './value-types';

/** A value by which a configuration file lets something in, or out of its folder and this machine. */
export interface Door {
  key: string;
  value: string;
}

interface DoorQuestion {
  /** By dotted key: values as they were checked, paths absolute. */
  values: ReadonlyMap<string, unknown>;
  /** Of the configuration file. */
  folder: string;
}

/** The doors of the values: each key that the schema counts among them, if its value opens something. */
export function doorsOf({ values, folder }: DoorQuestion): Door[] {
  return [...values].flatMap(([key, value]) => {
    const opened = openedBy(key, value, folder);
    return opened === undefined ? [] : [{ key, value: opened }];
  });
}

function openedBy(key: string, value: unknown, folder: string): string | undefined {
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
      return isBelow(folder, shown) ? undefined : shown;
    case 'content':
      return `${shown} (SHA-256 ${contentHash(shown)})`;
  }
}

/** A URL, a host, or a host with its port. */
function isOnThisMachine(address: string): boolean {
  if (/^https?:/.test(address)) return isLoopback(new URL(address).hostname);
  return isLoopback(address) || isLoopbackAddress(address);
}

/** Whether a path, of which the end may be missing yet, really lies in the folder, whatever links are on its way. */
export function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(realpathSync(folder), realPathOf(file));
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realPathOf(parent), path.basename(file));
  }
}

function contentHash(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch {
    return 'of no file';
  }
}
