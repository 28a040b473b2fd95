import path from 'node:path';
import type { Environment } from './run-command';

/** Where downloaded binaries are kept by default: the user's cache, shared by all projects. */
export function defaultCacheDir(env: Environment, homeDir: string, platform: string = process.platform): string {
  const name = 'temporal-file-conversion';
  // The XDG specification ignores a relative path.
  const xdg = env['XDG_CACHE_HOME'];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, name);
  if (platform === 'darwin') return path.join(homeDir, 'Library', 'Caches', name);
  return path.join(homeDir, '.cache', name);
}
