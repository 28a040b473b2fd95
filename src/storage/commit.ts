import { link as linkFile, open, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StorageError } from './errors';
import { describeFile } from './describe';
import type { OnExisting } from './file-store';
import { numberName } from './file-name';
import { destinationFailure, systemCode } from './file-system-failure';
import type { PartialFile } from './partial-file';
import { removeIfThere } from './partial-file';
import { syncFolder } from './sync-folder';

/** `link(2)`; replaceable because some file systems have none. */
export type Link = (existingPath: string, newPath: string) => Promise<void>;

interface CommitOptions {
  readonly uri: string;
  readonly filePath: string;
  readonly partial: PartialFile;
  readonly bytes: number;
  readonly sha256: string;
  readonly onExisting: OnExisting;
  readonly attempt: number;
  readonly link?: Link | undefined;
  readonly signal?: AbortSignal | undefined;
}

const maxNumber = 9999;
const linkUnsupported = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/**
 * Gives the finished temporary file its final name in one step, so that nobody ever sees half a file. Answers the path it
 * has now, or undefined when the policy is `skip` and something stands there.
 *
 * A later attempt takes a file of the same bytes for the one that a lost attempt has finished.
 */
export async function commitPartial(options: CommitOptions): Promise<string | undefined> {
  const { filePath, onExisting, uri } = options;
  if (onExisting === 'overwrite') {
    await assertCommittable(options);
    await inDestination(uri, () => rename(options.partial.path, filePath));
    options.partial.markInPlace();
    await syncFolder(path.dirname(filePath));
    return filePath;
  }
  for (let number = 0; number <= maxNumber; number += 1) {
    const candidate = number === 0 ? filePath : numbered(filePath, number);
    if (await tryName(options, candidate)) {
      options.partial.markInPlace();
      await syncFolder(path.dirname(candidate));
      return candidate;
    }
    if (options.attempt > 1 && (await hasSameBytes(options, candidate))) return candidate;
    if (onExisting === 'skip') return undefined;
    if (onExisting === 'fail') throw alreadyExists(uri);
  }
  throw alreadyExists(uri);
}

export function alreadyExists(uri: string): StorageError {
  return new StorageError({
    code: 'DESTINATION_EXISTS',
    message: `Cannot write ${uri}: it exists already; choose another name, or skip, overwrite or rename.`,
    uri,
  });
}

/** False when the name is taken. */
async function tryName(options: CommitOptions, candidate: string): Promise<boolean> {
  await assertCommittable(options);
  return inDestination(options.uri, () => claim(options.partial.path, candidate, options.link ?? linkFile));
}

/** While the last bytes were made durable the job may have been cancelled, or the file taken away. */
async function assertCommittable({ partial, signal }: CommitOptions): Promise<void> {
  signal?.throwIfAborted();
  await partial.assertOwned();
}

async function hasSameBytes({ bytes, sha256 }: CommitOptions, candidate: string): Promise<boolean> {
  const existing = await stat(candidate).catch(() => undefined);
  if (existing?.isFile() !== true || existing.size !== bytes) return false;
  return (await describeFile(pathToFileURL(candidate).href))?.sha256 === sha256;
}

/** Unlike a rename, a link fails when the name is taken. */
async function claim(from: string, to: string, link: Link): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    if (linkUnsupported.has(systemCode(error))) return claimWithoutLink(from, to);
    throw error;
  }
  await removeIfThere(from);
  return true;
}

/** An empty file, created exclusively, holds the name until the rename replaces it. */
async function claimWithoutLink(from: string, to: string): Promise<boolean> {
  try {
    await (await open(to, 'wx')).close();
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    await rename(from, to);
  } catch (error) {
    await removeIfThere(to);
    throw error;
  }
  return true;
}

function numbered(filePath: string, number: number): string {
  return path.join(path.dirname(filePath), numberName(path.basename(filePath), number));
}

async function inDestination<Result>(uri: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}
