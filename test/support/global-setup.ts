import os from 'node:os';
import { searchAttributeTypes } from '../../src/shared/search-attributes';
import {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
  type RunningTemporalServer,
} from '../../src/temporal-server';

declare global {
  var testTemporalServer: RunningTemporalServer | undefined;
}

/** One Temporal dev server, in memory, for the whole jest run; tests find it in TEST_TEMPORAL_ADDRESS. */
export default async function startSharedServer(): Promise<void> {
  // A developer who keeps a server running saves its start.
  if (process.env['TEST_TEMPORAL_ADDRESS']) return;
  const cli = await obtainTemporalCli({
    env: process.env,
    cacheDir: defaultCacheDir(process.env, os.homedir()),
    onProgress: (message) => console.log(message),
  });
  const withUi = process.env['TEST_TEMPORAL_UI'] === '1';
  const server = await startTemporalServer({
    cliPath: cli.path,
    env: process.env,
    searchAttributes: searchAttributeTypes,
    ...(withUi ? {} : { uiPort: false }),
  });
  if (server.uiUrl !== undefined) console.log(`Temporal UI of this run: ${server.uiUrl}`);
  process.env['TEST_TEMPORAL_ADDRESS'] = server.address;
  globalThis.testTemporalServer = server;
}
