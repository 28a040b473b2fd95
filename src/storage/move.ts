import { chmodSync, linkSync, lstatSync, renameSync, unlinkSync, utimesSync, type BigIntStats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import path from 'node:path';
import { cannotRead, cannotWrite, destinationFailure, StorageError, systemCode, writing } from './errors';
import type { FileStore, Moved, MoveOptions } from './file-store';
import { toPath } from './file-uri';
import { makeFolder, syncFolder } from './folders';
import { isReserved, reserve } from './placeholder';
import { contentOf, fileStamp } from './source';

function placeholderOf(file: string): string {
  return `fileconv is moving ${file} to this name.\n`;
}

/** A rename within a file system, so that the file is never in two places; otherwise a copy. */
export async function moveLocalFile(options: MoveOptions, store: FileStore): Promise<Moved> {
  const { uri, to, stamp } = options;
  const [from, target] = [toPath(uri), toPath(to)];
  return writing(to, async () => {
    const seen = await lstat(from, { bigint: true }).catch(() => undefined);
    if (seen?.isSymbolicLink()) {
      throw cannotRead(uri, { code: 'SOURCE_UNREADABLE', why: 'it is a symbolic link, which stays where it is.' });
    }
    if (!seen || fileStamp(seen) !== stamp) return 'changed';
    // `from` is only the placeholder of a killed move in the other direction: the file is still at `target`, or someone has taken it.
    if (isReserved(from, placeholderOf(target))) {
      unlinkSync(from);
      return 'moved';
    }
    await makeFolder(path.dirname(target));
    const byCopy = () =>
      moveByCopy(options, store, () => {
        likeBefore(target, seen);
        return writing(uri, () => removeUnchanged(from, stamp));
      });
    // A copy reserves no name: after a kill, the finished copy is recognized by its bytes.
    if (await isElsewhere(from, target, to)) return byCopy();
    const placeholder = placeholderOf(from);
    if (!reserve(target, placeholder)) return 'taken';
    try {
      // `from` may be a new file by now; the check below notices, and puts it back.
      renameSync(from, target);
    } catch (error) {
      // Another attempt may have moved the file to this name meanwhile.
      if (isReserved(target, placeholder)) unlinkSync(target);
      if (systemCode(error) === 'ENOENT') return 'changed';
      // The new name could be reserved, so the failure concerns the old one.
      if (systemCode(error) !== 'EXDEV') throw destinationFailure(error, uri);
      return byCopy();
    }
    const now = lstatSync(target, { bigint: true });
    if (now.ino !== seen.ino || now.mtimeNs !== seen.mtimeNs || now.size !== seen.size) return putBack(target, from);
    for (const file of [target, from]) await syncFolder(path.dirname(file));
    return 'moved';
  });
}

/**
 * Whether the target is on another file system.
 * @throws StorageError if it is the same folder, reached by a link or a mount.
 */
async function isElsewhere(from: string, target: string, to: string): Promise<boolean> {
  const [one, other] = await Promise.all([from, target].map((file) => stat(path.dirname(file))));
  if (one?.dev !== other?.dev) return true;
  if (one?.ino !== other?.ino) return false;
  const why = 'its folder is, by another name, the one that the file is in. Name another folder.';
  throw cannotWrite(to, { code: 'DESTINATION_IS_SOURCE', why });
}

function putBack(target: string, from: string): 'changed' {
  try {
    linkSync(target, from);
    unlinkSync(target);
  } catch (error) {
    // The file system has no links; or a third file has taken the name, and this one stays at the target.
    if (!lstatSync(from, { throwIfNoEntry: false })) renameSync(target, from);
    else if (systemCode(error) !== 'EEXIST') throw error;
  }
  return 'changed';
}

/** Copies permissions and times of the file, if the file system supports them. */
function likeBefore(copy: string, { mode, atimeMs, mtimeMs }: BigIntStats): void {
  try {
    chmodSync(copy, Number(mode) & 0o777);
    utimesSync(copy, new Date(Number(atimeMs)), new Date(Number(mtimeMs)));
  } catch {
    // Only the content matters.
  }
}

/** Synchronous, so that almost nothing can happen between the check and the removal. */
function removeUnchanged(file: string, stamp: string): Promise<boolean> {
  const now = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (!now || fileStamp(now) !== stamp) return Promise.resolve(false);
  unlinkSync(file);
  return Promise.resolve(true);
}

/**
 * Copies a file, verifies the copy, and calls `remove`, which must check that the original is unchanged. An existing file with the same
 * bytes counts as the copy: a killed attempt may have made it.
 */
export async function moveByCopy(
  { uri, to, stamp }: MoveOptions,
  store: FileStore,
  remove: () => Promise<boolean>,
): Promise<Moved> {
  const found = await store.look(uri);
  if (found.kind !== 'file' || found.stamp !== stamp) return 'changed';
  const isNew = (await store.look(to)).kind === 'none';
  const copying = { uri: to, jobKey: `move ${uri}`, attempt: isNew ? 1 : 2, onExisting: 'fail' as const };
  try {
    const copy = await store.writeDestination({ ...copying, body: store.read(uri), expectedSize: found.bytes });
    if ((await contentOf(store.read(to))).sha256 !== copy.sha256) {
      const why = 'its copy holds other bytes than were written.';
      throw cannotWrite(to, { code: 'STORAGE_FAILED', why, retryable: true });
    }
    // If the original is gone, the copy is the only one: a response was lost, or another attempt was faster.
    if ((await remove()) || (await store.look(uri)).kind === 'none') return 'moved';
  } catch (error) {
    if (error instanceof StorageError && error.code === 'DESTINATION_EXISTS') return 'taken';
    if (error instanceof StorageError && error.code !== 'SIZE_MISMATCH') throw error;
    if (!(error instanceof StorageError)) throw error;
  }
  if (isNew) await store.remove(to);
  return 'changed';
}
