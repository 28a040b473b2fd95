import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { FolderSharing, MarkerOptions } from './file-store';
import { destinationFailure, systemCode } from './file-system-failure';
import { toPath } from './file-uri';
import { markOf, removeIfThere } from './partial-file';

/** Folders of this machine: the marker is an empty file in the destination's folder, called like a temporary one of attempt 0. */
export function createFolderSharing(): FolderSharing {
  return {
    view: viewOfThisProcess(),
    leaveMarker: (options) => atMarker(options, leave),
    seesMarker: (options) => atMarker(options, sees),
    removeMarker: (options) => atMarker(options, removeIfThere),
  };
}

/** Processes of one boot and one mount namespace see the same files; where there are no such namespaces, those of one machine do. */
function viewOfThisProcess(): string {
  let place: string;
  try {
    place = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/mnt');
  } catch {
    place = hostname();
  }
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

async function atMarker<Result>(
  { uri, jobKey }: MarkerOptions,
  act: (markerPath: string) => Promise<Result>,
): Promise<Result> {
  const asked = toPath(uri);
  const folder = uri.endsWith('/') ? asked : path.dirname(asked);
  try {
    return await act(path.join(folder, `.job.${markOf(jobKey)}.0.part`));
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}

async function leave(markerPath: string): Promise<void> {
  try {
    await touch(markerPath);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    await mkdir(path.dirname(markerPath), { recursive: true });
    await touch(markerPath);
  }
}

/** Exclusively, so that a symbolic link of this name is not followed. */
async function touch(markerPath: string): Promise<void> {
  try {
    await (await open(markerPath, 'wx')).close();
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

async function sees(markerPath: string): Promise<boolean> {
  try {
    await lstat(markerPath);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return false;
    throw error;
  }
}
