import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Environment } from './processes';
import type { Release } from './releases';

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
export function cachedBinary(cacheDir: string, release: Release): string {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return path.join(cacheDir, `${release.executable}-${release.version}-${process.platform}-${process.arch}${suffix}`);
}

/** Why the cached binary cannot be trusted; `undefined` when it is what was installed. */
export async function findDamage(file: string): Promise<string | undefined> {
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
export async function installBinary(source: string, target: string): Promise<void> {
  await chmod(source, 0o755);
  const sha256 = await sha256Of(source);
  await syncFile(source);
  const { size, mtimeMs } = await stat(source);
  const record: BinaryRecord = { sha256, bytes: size, modifiedMs: mtimeMs };
  const temporaryRecord = `${source}.json`;
  await writeFile(temporaryRecord, `${JSON.stringify(record)}\n`, { flush: true });
  // The record goes first: if the process dies between the two, record and binary differ, and both are replaced.
  await rename(temporaryRecord, recordOf(target));
  await rename(source, target);
}

/** An empty folder for a download, on the cache's file system, so that a rename is enough to install. */
export function temporaryFolder(cacheDir: string): string {
  return path.join(cacheDir, `${temporaryPrefix}${process.pid}-${Date.now()}`);
}

/** Removes what downloads that were killed left behind. The caller holds the cache's lock. */
export async function removeLeftovers(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (name.startsWith(temporaryPrefix)) await rm(path.join(cacheDir, name), { recursive: true, force: true });
  }
}

function recordOf(file: string): string {
  return `${file}.json`;
}

async function readRecord(file: string): Promise<BinaryRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(recordOf(file), 'utf8')));
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
