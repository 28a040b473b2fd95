import { chmod, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
  type RunningTemporalServer,
} from '../../packages/cli/src/dev-server';

declare global {
  var testTemporalServer: RunningTemporalServer | undefined;
  var testRunFolder: string | undefined;
}

/**
 * Starts one in-memory Temporal dev server for the whole jest run, whose address is in TEST_TEMPORAL_ADDRESS, and creates one folder for
 * everything that tests and the processes that they kill leave behind.
 */
export default async function prepareRun(): Promise<void> {
  globalThis.testRunFolder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-tests-'));
  // Some tests read it as a user with fewer rights.
  await chmod(globalThis.testRunFolder, 0o755);
  process.env['TMPDIR'] = globalThis.testRunFolder;
  // A developer can save time with a server that is already running.
  if (process.env['TEST_TEMPORAL_ADDRESS']) return;
  const cliPath = await obtainTemporalCli({
    env: process.env,
    cacheDir: defaultCacheDir(process.env, os.homedir()),
    onProgress: (message) => console.log(message),
  });
  const withUi = process.env['TEST_TEMPORAL_UI'] === '1';
  const server = await startTemporalServer({
    cliPath,
    env: process.env,
    dynamicConfig: {
      // Off by default; an operator's server may have it on.
      'frontend.WorkflowPauseEnabled': 'true',
    },
    ...(withUi ? {} : { uiPort: false }),
  });
  if (server.uiUrl !== undefined) console.log(`Temporal UI of this run: ${server.uiUrl}`);
  process.env['TEST_TEMPORAL_ADDRESS'] = server.address;
  globalThis.testTemporalServer = server;
}
