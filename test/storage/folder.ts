import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StorageError } from '../../src/storage/errors';

const cleanups: (() => Promise<void> | void)[] = [];

/** Must be called in `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export function onCleanUp(cleanup: () => void): void {
  cleanups.push(cleanup);
}

/** A new folder. It is removed together with the folder of the test run. */
export const makeFolder = (): Promise<string> => mkdtemp(path.join(os.tmpdir(), 'fileconv-storage-'));

export const uriOf = (...segments: string[]): string => pathToFileURL(path.join(...segments)).href;

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** All names in a folder, including hidden ones. */
export const listFolder = async (folder: string): Promise<string[]> => (await readdir(folder)).sort();

export async function failureOf(call: Promise<unknown>): Promise<StorageError> {
  const outcome = await call.then(
    (value) => new Error(`succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof StorageError) return outcome;
  throw new Error('not a StorageError', { cause: outcome });
}

/** Mounts a file system in memory. Returns undefined if this user may not mount. */
export async function mountMemory(options: string): Promise<string | undefined> {
  const folder = await makeFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  cleanups.push(() => void execFileSync('umount', [folder], { stdio: 'ignore' }));
  return folder;
}

export function enlarge(folder: string, options: string): void {
  execFileSync('mount', ['-o', `remount,${options}`, folder], { stdio: 'ignore' });
}

const isRoot = process.getuid?.() === 0;

/** Root may read and write everything, so a test of permissions runs as another user. */
export async function withoutPrivileges<Result>(step: () => Promise<Result>): Promise<Result> {
  if (!isRoot) return step();
  process.seteuid?.(65534);
  try {
    return await step();
  } finally {
    process.seteuid?.(0);
  }
}
