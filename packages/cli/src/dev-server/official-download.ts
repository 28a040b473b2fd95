import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { types } from 'node:util';
import type { Release } from './releases';
import { inMegabytes } from './releases';
import type { Environment } from './run-command';

export const officialOrigin = 'https://temporal.download';

interface OfficialDownload {
  origin: string;
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
export async function downloadOfficial(release: Release, download: OfficialDownload): Promise<string> {
  const platform = platforms[process.platform];
  const arch = architectures[process.arch];
  if (release.archivePath === undefined || platform === undefined || arch === undefined) {
    throw new Error(`no archive for ${process.platform}-${process.arch}`);
  }
  const url = new URL(release.archivePath(platform, arch), download.origin);
  // Here, not above: every command would load them for what is needed once on a machine.
  const { EnvHttpProxyAgent, interceptors, request } = await import('undici');
  const { extract } = await import('tar');
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
    await extract({
      file: archive,
      cwd: download.folder,
      filter: (entry) => path.basename(entry) === release.executable,
    });
  } catch (error) {
    download.signal?.throwIfAborted();
    throw new Error(explain(url, error), { cause: error });
  } finally {
    await agent.destroy();
  }
  const found = (await readdir(download.folder, { recursive: true })).find(
    (each) => path.basename(each) === release.executable,
  );
  if (found === undefined) throw new Error(`the archive of ${url.host} holds no ${release.executable}`);
  return path.join(download.folder, found);
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
