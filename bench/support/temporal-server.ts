import os from 'node:os';
import { searchAttributeTypes } from '../../src/shared/search-attributes';
import type { RunningTemporalServer } from '../../packages/cli/src/dev-server';
import { defaultCacheDir, obtainTemporalCli, startTemporalServer } from '../../packages/cli/src/dev-server';

/** A dev server of this run alone. Jobs are listed by their search attributes, as in production. */
export async function startBenchServer(): Promise<RunningTemporalServer> {
  const { env } = process;
  const cli = await obtainTemporalCli({ env, cacheDir: defaultCacheDir(env, os.homedir()) });
  return startTemporalServer({ cliPath: cli.path, env, uiPort: false, searchAttributes: searchAttributeTypes });
}
