import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { mkdir, open, readlink, stat, statfs, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { cannotWrite, systemCode, writing } from './errors';
import type { FolderSharing, MarkerOptions } from './file-store';
import { toPath } from './file-uri';
import { markOf, removeIfThere } from './partial-file';

/** Of a destination: a folder, or a file in it. */
export function folderOf(uri: string): string {
  const asked = toPath(uri);
  return uri.endsWith('/') ? asked : path.dirname(asked);
}

/** Makes a new name in the folder survive a power cut, where the system can sync a folder; the file itself is safe. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows and some network file systems.
  }
}

/** Makes a folder and its parents. Fails with ENOENT in /proc and the like, where Node's recursive mkdir hangs. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    const parent = path.dirname(folder);
    if (systemCode(error) !== 'ENOENT' || parent === folder) throw error;
    await makeFolder(parent);
    await makeOne(folder);
  }
}

/** Succeeds if the folder exists or is created concurrently; the error for that depends on the file system. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
    await syncFolder(path.dirname(folder));
  } catch (error) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}

/** Bytes that this user can still write to a folder; undefined if the file system does not say. */
export type FreeBytes = (folder: string) => Promise<number | undefined>;

/** Quotas are not included: they only show when the file is written. */
export async function freeBytesOf(folder: string): Promise<number | undefined> {
  try {
    const { bsize, blocks, bavail, bfree } = await statfs(folder);
    // Some network mounts and in-memory file systems have no size of their own.
    if (blocks === 0) return undefined;
    return bsize * (process.getuid?.() === 0 ? bfree : bavail);
  } catch {
    return undefined;
  }
}

/** @throws StorageError `DESTINATION_FULL` if the bytes evidently do not fit. */
export async function assertRoom(options: {
  uri: string;
  folder: string;
  bytes: number | undefined;
  freeBytes: FreeBytes;
}): Promise<void> {
  const { uri, folder, bytes, freeBytes } = options;
  const free = bytes === undefined ? undefined : await freeBytes(folder);
  if (bytes === undefined || free === undefined || bytes <= free) return;
  const why = `it takes ${bytes} bytes, and ${free} are free there. Make room.`;
  throw cannotWrite(uri, { code: 'DESTINATION_FULL', why });
}

/**
 * Marker for local folders: a dangling symbolic link in the destination's folder, named like a temporary file of
 * attempt 0, whose target is the run's id. A link takes no room, so that it fits on a disk that is almost full.
 */
export function createFolderSharing(): FolderSharing {
  return {
    view: viewOfThisProcess(),
    leaveMarker: (options) => atMarker(options, (markerPath) => leave(markerPath, options.runId)),
    seesMarker: (options) => atMarker(options, (markerPath) => sees(markerPath, options.runId)),
    removeMarker: (options) => atMarker(options, removeIfThere),
  };
}

/** Processes of one boot and mount namespace see the same files; without namespaces, those of one machine do. */
function viewOfThisProcess(): string {
  let place: string;
  try {
    place = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/mnt');
  } catch {
    place = hostname();
  }
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

function atMarker<Result>(
  { uri, jobKey }: Pick<MarkerOptions, 'uri' | 'jobKey'>,
  act: (markerPath: string) => Promise<Result>,
): Promise<Result> {
  return writing(uri, () => act(path.join(folderOf(uri), `.job.${markOf(jobKey)}.0.part`)));
}

/** Another attempt of the upload that was suspended may leave its own marker at the same moment. */
const linkTries = 5;

/** Returns false if the folder cannot hold links. */
async function leave(markerPath: string, runId: string): Promise<boolean> {
  for (let triesLeft = linkTries; ;) {
    try {
      await symlink(runId, markerPath);
      return true;
    } catch (error) {
      const code = systemCode(error);
      if (['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) return false;
      triesLeft -= 1;
      if (triesLeft === 0) throw error;
      if (code === 'EEXIST') await removeIfThere(markerPath);
      else if (code === 'ENOENT') await makeFolder(path.dirname(markerPath));
      else throw error;
    }
  }
}

async function sees(markerPath: string, runId: string): Promise<boolean> {
  try {
    return (await readlink(markerPath)) === runId;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EINVAL'].includes(systemCode(error))) return false;
    throw error;
  }
}
