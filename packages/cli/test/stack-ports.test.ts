import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../src/config/load-config';
import { tryProcessLock } from '../src/dev-server';
import { claimPorts, type StackPorts } from '../src/stack/ports';

describe('the ports of a stack', () => {
  let homeDir: string;
  const claimed: StackPorts[] = [];

  beforeEach(async () => (homeDir = await mkdtemp(path.join(tmpdir(), 'fileconv-ports-'))));

  afterEach(() => {
    for (const ports of claimed.splice(0)) ports.release();
  });

  /** In a new folder unless one is named. */
  async function claim(
    variables: Record<string, string> = {},
    { startedBy = 'up', name }: { startedBy?: 'up' | 'command'; name?: string } = {},
  ): Promise<StackPorts> {
    const env = { XDG_CACHE_HOME: homeDir, ...variables };
    const cwd = path.join(homeDir, name ?? String(claimed.length));
    await mkdir(path.join(cwd, '.fileconv'), { recursive: true });
    const ports = await claimPorts({ homeDir, env, config: await loadConfig({ cwd, env }) }, startedBy);
    claimed.push(ports);
    return ports;
  }

  it('belong to one stack while it runs, even if nothing listens on them', async () => {
    const [first, second] = [await claim(), await claim()];
    const all = [first, second].flatMap(({ temporal, temporalUi, service }) => [temporal, temporalUi, service]);
    expect(new Set(all).size).toBe(6);
  });

  it('are free for another stack once it has ended', async () => {
    const lockFile = path.join(homeDir, 'temporal-file-conversion', 'well-known-ports.lock');
    const { release } = await claim();
    expect(await tryProcessLock(lockFile)).toBeUndefined();
    release();
    const lock = await tryProcessLock(lockFile);
    expect(lock).toBeDefined();
    lock?.release();
  });

  it('are chosen if 0 is configured, because port 0 would tell nobody where to connect', async () => {
    const { service, callbacks } = await claim({ FILECONV_SERVICE_PORT: '0', FILECONV_CALLBACKS_PORT: '0' });
    expect(Math.min(service, callbacks)).toBeGreaterThan(0);
    expect(service).not.toBe(callbacks);
  });

  it("of a command's stack are the same as last time in the folder, because callbacks still come to them", async () => {
    const again = { startedBy: 'command', name: 'again' } as const;
    const { callbacks, temporal, release } = await claim({}, again);
    release();
    expect(await claim({}, again)).toMatchObject({ callbacks, temporal });
    expect((await claim({ FILECONV_CALLBACKS_PORT: '18466' }, again)).callbacks).toBe(18_466);
  });

  it("of a command's stack differ from those at which another folder's stack expects callbacks", async () => {
    const { callbacks: ofCommand, release } = await claim({}, { startedBy: 'command' });
    release();
    expect(ofCommand).not.toBe((await claim()).callbacks);
  });

  it('are used as configured', async () => {
    await claim();
    expect((await claim({ FILECONV_SERVICE_PORT: '18465' })).service).toBe(18_465);
  });
});
