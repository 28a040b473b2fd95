import path from 'node:path';
import type { Environment } from './run-command';

export type TemporalChoice =
  /** Somebody runs a server: connect to it, obtain and start nothing. */
  | { kind: 'external'; reason: string }
  /** Obtain the CLI and run a dev server of our own. */
  | { kind: 'local' };

/** Whether a server of our own is needed: not when the environment or the configuration names one. */
export function chooseTemporal(
  env: Environment,
  configured: { address?: string | undefined; profile?: string | undefined } = {},
): TemporalChoice {
  if (env['TEMPORAL_ADDRESS']) return { kind: 'external', reason: `TEMPORAL_ADDRESS=${env['TEMPORAL_ADDRESS']}` };
  if (configured.address) return { kind: 'external', reason: `temporal.address = ${configured.address}` };
  if (configured.profile) return { kind: 'external', reason: `temporal.profile = ${configured.profile}` };
  return { kind: 'local' };
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
