import path from 'node:path';
import type { Variables } from './processes';

/** The user's cache, shared by all projects: downloaded binaries, compiled code. */
export function defaultCacheDir(env: Variables, homeDir: string, platform: string = process.platform): string {
  const name = 'temporal-file-conversion';
  // The XDG specification says to ignore a relative path.
  const xdg = env['XDG_CACHE_HOME'];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, name);
  if (platform === 'darwin') return path.join(homeDir, 'Library', 'Caches', name);
  return path.join(homeDir, '.cache', name);
}
