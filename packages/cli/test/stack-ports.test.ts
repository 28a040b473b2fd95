import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../src/config/load-config';
import { acquireProcessLock } from '../src/dev-server';
import { claimPorts, receiverPort, type StackPorts } from '../src/stack/ports';

describe('the ports of a stack', () => {
  let homeDir: string;
  const claimed: StackPorts[] = [];

  beforeEach(async () => {
    homeDir = await mkdtemp(path.join(tmpdir(), 'fileconv-ports-'));
  });

  afterEach(async () => {
    for (const ports of claimed.splice(0)) ports.release();
    await rm(homeDir, { recursive: true, force: true });
  });

  async function claim(
    variables: Record<string, string> = {},
    startedBy: 'up' | 'command' = 'up',
  ): Promise<StackPorts> {
    const env = { XDG_CACHE_HOME: homeDir, ...variables };
    const ports = await claimPorts({ homeDir, env, config: await loadConfig({ cwd: homeDir, env }) }, startedBy);
    claimed.push(ports);
    return ports;
  }

  it('are its own while it runs, even when nothing listens there at the moment', async () => {
    const [first, second] = [await claim(), await claim()];
    const all = [first, second].flatMap(({ temporal, temporalUi, service }) => [temporal, temporalUi, service]);
    expect(new Set(all).size).toBe(6);
  });

  it('are free for another stack once it has ended', async () => {
    const lockFile = path.join(homeDir, 'temporal-file-conversion', 'well-known-ports.lock');
    const { release } = await claim();
    await expect(acquireProcessLock(lockFile, { wait: false })).rejects.toMatchObject({ code: 'LOCK_HELD' });
    release();
    (await acquireProcessLock(lockFile, { wait: false })).release();
  });

  it('are free ones where 0 is configured, which would tell nobody where to connect', async () => {
    const variables = { FILECONV_SERVICE_PORT: '0', FILECONV_CALLBACKS_PORT: '0' };
    const { service, callbacks } = await claim(variables);
    expect(Math.min(service, callbacks)).toBeGreaterThan(0);
    expect(service).not.toBe(callbacks);
  });

  it("of a command's stack hold the one at which the folder has been called back before", async () => {
    const { callbacks } = await claim({}, 'command');
    await mkdir(path.join(homeDir, '.fileconv'));
    await receiverPort.write(path.join(homeDir, '.fileconv'), callbacks);
    expect((await claim({}, 'command')).callbacks).toBe(callbacks);
    expect((await claim({ FILECONV_CALLBACKS_PORT: '18466' }, 'command')).callbacks).toBe(18_466);
  });

  it("of a command's stack are not the one at which another folder's stack would be called back", async () => {
    const { callbacks: ofCommand, release } = await claim({}, 'command');
    release();
    expect(ofCommand).not.toBe((await claim()).callbacks);
  });

  it('are taken as they are configured', async () => {
    await claim();
    expect((await claim({ FILECONV_SERVICE_PORT: '18465' })).service).toBe(18_465);
  });
});
