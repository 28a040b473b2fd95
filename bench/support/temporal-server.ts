import os from 'node:os';
import type { RunningTemporalServer } from '../../packages/cli/src/dev-server';
import { defaultCacheDir, obtainTemporalCli, startTemporalServer } from '../../packages/cli/src/dev-server';

/**
 * A dev server of this run alone. Jobs are listed by their search attributes, as in production.
 *
 * `dbFilename`: for more jobs than memory has room for. Default: in memory.
 */
export async function startBenchServer({ dbFilename }: { dbFilename?: string } = {}): Promise<RunningTemporalServer> {
  const { env } = process;
  const cliPath = await obtainTemporalCli({ env, cacheDir: defaultCacheDir(env, os.homedir()) });
  return startTemporalServer({
    cliPath,
    env,
    uiPort: false,
    dbFilename,
    synchronous: 'off',
  });
}
