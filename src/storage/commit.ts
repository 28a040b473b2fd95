import { linkSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { alreadyExists, cannotWrite, systemCode, writing } from './errors';
import { numberName } from './file-name';
import type { WriteDestinationOptions } from './file-store';
import { syncFolder } from './folders';
import type { PartialFile } from './partial-file';
import { isReserved, reserve } from './placeholder';
import { describeFile } from './source';

/** `link(2)`; replaceable because some file systems do not support it. */
export type Link = (existingPath: string, newPath: string) => void | Promise<void>;

interface CommitOptions extends Pick<
  WriteDestinationOptions,
  'uri' | 'onExisting' | 'attempt' | 'signal' | 'mayCommit'
> {
  readonly filePath: string;
  readonly partial: PartialFile;
  readonly bytes: number;
  readonly sha256: string;
  readonly link?: Link | undefined;
}

const maxNumber = 9999;
const linkUnsupported = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']);

/**
 * Gives the finished temporary file its final name in one step, so that no reader ever sees a partial file. Returns the
 * final path, or undefined if the policy is `skip` and the name is taken.
 *
 * A later attempt accepts a file with the same bytes as the result of a lost attempt.
 */
export async function commitPartial(options: CommitOptions): Promise<string | undefined> {
  const { filePath, onExisting, uri } = options;
  if (onExisting === 'overwrite') {
    await commit(options, () => move(options.partial, filePath));
    options.partial.markInPlace();
    await syncFolder(path.dirname(filePath));
    return filePath;
  }
  for (let number = 0; number <= maxNumber; number += 1) {
    const candidate = number === 0 ? filePath : numbered(filePath, number);
    if (await commit(options, () => claim(options, candidate))) {
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

async function commit<Result>(options: CommitOptions, step: () => Result | Promise<Result>): Promise<Result> {
  const check = () => options.partial.assertOwned();
  return whenAllowed({ ...options, check }, () => writing(options.uri, step));
}

async function hasSameBytes({ bytes, sha256 }: CommitOptions, candidate: string): Promise<boolean> {
  const existing = await stat(candidate).catch(() => undefined);
  if (existing?.isFile() !== true || existing.size !== bytes) return false;
  return (await describeFile(pathToFileURL(candidate).href))?.sha256 === sha256;
}

/** Unlike a rename, a link fails if the name is taken; returns false then. */
async function claim({ partial, link = linkSync }: CommitOptions, to: string): Promise<boolean> {
  try {
    const linked = link(partial.path, to);
    if (linked) await linked;
  } catch (error) {
    if (linkUnsupported.has(systemCode(error))) return claimWithoutLink(partial, to);
    if (systemCode(error) !== 'EEXIST') throw error;
    // An earlier attempt may have been killed before its rename.
    if (isReserved(to, partial.placeholder)) return claimWithoutLink(partial, to);
    // A network file system may carry out a call, lose the response, and refuse the retry.
    if (!partial.isAlso(to)) return false;
  }
  rmSync(partial.path, { force: true });
  return true;
}

function claimWithoutLink(partial: PartialFile, to: string): boolean {
  if (!reserve(to, partial.placeholder)) return false;
  try {
    move(partial, to);
  } catch (error) {
    unlinkSync(to);
    throw error;
  }
  return true;
}

function move(partial: PartialFile, to: string): void {
  try {
    renameSync(partial.path, to);
  } catch (error) {
    // As with a link, the refused call may be the retry of a completed one.
    if (systemCode(error) !== 'ENOENT' || !partial.isAlso(to)) throw error;
  }
}

function numbered(filePath: string, number: number): string {
  return path.join(path.dirname(filePath), numberName(path.basename(filePath), number));
}

/** For a process that is suspended before every commit. */
const maxQuestions = 10;

interface Permission extends Pick<WriteDestinationOptions, 'uri' | 'signal' | 'mayCommit'> {
  /** @throws if another attempt owns the destination. */
  readonly check?: () => void;
}

/**
 * Runs the step that gives the final name, if this attempt may. Nothing is awaited between the last `mayCommit` and the
 * step: a process that is suspended there, and resumes after another attempt has finished, would replace newer results.
 */
export async function whenAllowed<Result>(
  { uri, signal, mayCommit, check }: Permission,
  step: () => Promise<Result>,
): Promise<Result> {
  for (let questions = 0; questions < maxQuestions; questions += 1) {
    // During the last sync, the job may have been cancelled or the file taken over.
    check?.();
    signal?.throwIfAborted();
    const answer = mayCommit?.();
    if (answer === undefined) return step();
    await answer;
  }
  const why = 'this process was suspended again and again before it could name the file.';
  throw cannotWrite(uri, { code: 'STORAGE_FAILED', why, retryable: true });
}
