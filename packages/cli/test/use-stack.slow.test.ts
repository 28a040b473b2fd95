import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { freePort } from '../src/dev-server';
import { testTemporalAddress } from '../../../test/support/temporal';
import { fileconv, fileconvProcess, filesBelow, linesOf, newFolder, parseJson, startProcess } from './fileconv';
import { childrenOf, isAlive } from './processes';
import { sharedStackOfTests } from './running-stack';
import { noisyPng } from './samples';

const onLinux = process.platform === 'linux' ? it : it.skip;

async function folderWithPictures(...names: string[]): Promise<string> {
  const folder = await newFolder();
  for (const name of names) await writeFile(path.join(folder, name), noisyPng(8));
  return folder;
}

describe('without a running stack, convert', () => {
  onLinux('starts one, says so, and stops all of it', async () => {
    const cwd = await folderWithPictures('a.png');
    const command = startProcess(['convert', 'a.png', '--to', 'webp'], {
      cwd,
      env: { FILECONV_POLICIES_FIRST_CHECK_AFTER: '2 seconds' },
    });
    const temporal = () => childrenOf(command.child.pid ?? 0).get('temporal');
    while (temporal() === undefined) await sleep(20);
    const pid = temporal() ?? 0;
    const ended = await command.ended;
    expect(ended).toMatchObject({
      code: 0,
      stderr: `No stack runs in ${cwd}/.fileconv: starting one for this command (\`fileconv up\` keeps one).\n`,
    });
    expect(ended.stdout).toMatch(/^a\.png → a\.webp \(/);
    expect([isAlive(pid), await filesBelow(cwd)]).toEqual([false, ['a.png', 'a.webp']]);
  });

  it('waits its turn while another command works in the same folder', async () => {
    const cwd = await folderWithPictures('a.png', 'b.png');
    const all = await Promise.all(
      ['a.png', 'b.png'].map((name) => fileconvProcess(['convert', name, '--to', 'gif'], { cwd })),
    );
    expect(all.map(({ code }) => code)).toEqual([0, 0]);
    expect(await filesBelow(cwd)).toEqual(['a.gif', 'a.png', 'b.gif', 'b.png']);
    const said = all.flatMap(({ stderr }) => linesOf(stderr));
    expect(said).toContainEqual(`Another fileconv command holds the stack of ${cwd}/.fileconv; waiting for it.`);
  });

  it('says on Ctrl-C that its jobs continue with the next stack, and they do', async () => {
    const cwd = await folderWithPictures('a.png');
    const env = { FILECONV_POLICIES_FIRST_CHECK_AFTER: '8 seconds', FILECONV_CALLBACKS_EMBEDDED: 'off' };
    const command = startProcess(['convert', 'a.png', '--to', 'webp', '--json'], { cwd, env });
    await untilJobRuns(cwd);
    const ended = await command.end();
    expect(ended.code).toBe(130);
    expect(parseJson(ended.stdout)).toMatchObject({ file: 'a.png', status: 'unfinished' });
    expect((await filesBelow(cwd)).filter((name) => !name.startsWith('.'))).toEqual(['a.png']);

    // Versions are for several workers: the only worker of a stack ignores its version, which nobody would make current.
    const up = startProcess(['up'], { cwd, env: { FILECONV_WORKER_BUILD_ID: '0.2.0' } });
    while (!existsSync(path.join(cwd, 'a.webp'))) await sleep(50);
    expect([(await up.end()).code, await filesBelow(cwd)]).toEqual([0, ['a.png', 'a.webp']]);
  });
});

const onQueue = () => ({ FILECONV_WORKER_TASK_QUEUE: `cli-${randomUUID()}` });

describe('with TEMPORAL_ADDRESS, convert', () => {
  const external = () => ({ TEMPORAL_ADDRESS: testTemporalAddress(), ...onQueue() });

  it('starts its own worker and service if nobody polls the task queue', async () => {
    const cwd = await folderWithPictures('a.png');
    const env = external();
    expect(await fileconv(['convert', 'a.png', '--to', 'webp'], { cwd, env })).toMatchObject({
      code: 0,
      stderr: `No worker polls task queue ${env.FILECONV_WORKER_TASK_QUEUE}: starting a service and a worker for this command.\n`,
    });
    expect(await filesBelow(cwd)).toEqual(['a.png', 'a.webp']);
  });

  it('uses the running worker and service, which end with 0 on SIGTERM, and asks for a worker beside a service', async () => {
    const cwd = await folderWithPictures('a.png');
    const env = { ...external(), FILECONV_SERVICE_PORT: String(await freePort()) };
    const service = startProcess(['service', '--json'], { cwd, env });
    expect(await service.untilJson()).toEqual({
      url: `http://127.0.0.1:${env.FILECONV_SERVICE_PORT}`,
      appId: expect.any(String) as unknown,
      tokenFile: expect.stringContaining(cwd) as unknown,
    });
    const without = await fileconv(['convert', 'a.png', '--to', 'webp'], { cwd, env });
    expect(without.code).toBe(1);
    expect(linesOf(without.stderr).at(-1)).toMatch(/^error: No worker polls .* Start one: fileconv worker/);
    const worker = startProcess(['worker', '--json'], { cwd, env });
    expect(await worker.untilJson()).toEqual({
      address: env.TEMPORAL_ADDRESS,
      namespace: 'default',
      taskQueue: env.FILECONV_WORKER_TASK_QUEUE,
    });

    expect(await fileconv(['convert', 'a.png', '--to', 'webp'], { cwd, env })).toMatchObject({ code: 0, stderr: '' });

    expect((await worker.end('SIGTERM')).code).toBe(0);
    const { code, stderr } = await service.end('SIGTERM');
    expect(code).toBe(0);
    // Only its log.
    expect(linesOf(stderr).filter((line) => !line.startsWith('{"level":"info"'))).toEqual([]);
  });
});

describe('the embedded service, with TEMPORAL_ADDRESS', () => {
  it("is the one of this folder's stack, whatever its port and the spelling of the address", async () => {
    const cwd = await folderWithPictures('a.png');
    const { TEMPORAL_ADDRESS: address, ...rest } = { TEMPORAL_ADDRESS: testTemporalAddress(), ...onQueue() };
    const port = String(await freePort());
    const up = startProcess(['up'], { cwd, env: { ...rest, TEMPORAL_ADDRESS: address, FILECONV_SERVICE_PORT: port } });
    await up.until(/Ctrl-C stops everything/);
    const env = { ...rest, TEMPORAL_ADDRESS: address.replace('127.0.0.1', 'localhost') };
    expect(await fileconv(['convert', 'a.png', '--to', 'webp'], { cwd, env })).toMatchObject({ code: 0, stderr: '' });
    const checked = await fileconv(['doctor', '--json'], { cwd, env });
    expect(checked.stdout).toContain(`http://127.0.0.1:${port} answers and accepts the token`);
    await up.end();
  });

  it('is not contacted unless one of this folder runs: another service may use its port', async () => {
    const cwd = await newFolder();
    const checked = await fileconv(['doctor', '--json'], { cwd, env: { TEMPORAL_ADDRESS: testTemporalAddress() } });
    expect(checked.stdout).toContain(`No conversion service runs on ${cwd}/.fileconv/service`);
    // The file of a killed service does not count as an address.
    await mkdir(path.join(cwd, '.fileconv/service'), { recursive: true });
    const record = { pid: process.pid, pidNamespace: '', url: 'http://evil.example' };
    await writeFile(path.join(cwd, '.fileconv/service/service.json'), JSON.stringify(record));
    await fileconv(['config', 'allow'], { cwd });
    const checkedAgain = await fileconv(['service', 'check'], { cwd });
    expect(checkedAgain).toMatchObject({ code: 1 });
    expect(checkedAgain.stderr).toContain('No conversion service runs on');
  });
});

describe('a worker', () => {
  it('says that Temporal is down, and where', async () => {
    const cwd = await folderWithPictures('a.png');
    const ended = await fileconv(['worker'], { cwd, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      expect.stringMatching(
        /^error: Temporal can't be reached at 127\.0\.0\.1:1 \(Connection refused\)\. Start it there /,
      ),
    ]);
  });

  // The native part of the SDK would keep the process alive.
  it.each([
    [
      'an address that is none',
      { TEMPORAL_ADDRESS: 'http://127.0.0.1:1' },
      1,
      /^error: Temporal can't be reached at http:\/\/127\.0\.0\.1:1 \(Invalid address .*'http:\/\/127\.0\.0\.1:1'\)\. /,
    ],
    [
      'a namespace that the server does not have',
      { TEMPORAL_ADDRESS: testTemporalAddress(), TEMPORAL_NAMESPACE: 'no-such' },
      2,
      /^error: Temporal has no namespace no-such\. Correct TEMPORAL_NAMESPACE, or create it: temporal operator namespace create --address \S+ --namespace no-such$/,
    ],
  ])('ends if it cannot start: %s', async (_what, env, code, says) => {
    const ended = await fileconvProcess(['worker'], { cwd: await newFolder(), env, timeoutMs: 20_000 });
    // The SDK may log a warning of its own first.
    expect(linesOf(ended.stderr).filter((line) => !line.startsWith('{'))).toEqual([expect.stringMatching(says)]);
    expect(ended).toMatchObject({ code, stdout: '' });
  });

  it('needs no state folder if it uses no embedded service', async () => {
    const cwd = await newFolder();
    const env = {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_WORKER_TASK_QUEUE: `cli-${randomUUID()}`,
      FILECONV_DEFAULT_APP: 'mine',
      FILECONV_APPS_MINE_BASE_URL: 'https://example.com',
      FILECONV_APPS_MINE_APP_ID: '1',
      FILECONV_APPS_MINE_TOKEN: 'some-token',
    };
    const worker = startProcess(['worker'], { cwd, env });
    await worker.until(/Ctrl-C drains it/);
    expect([(await worker.end()).code, existsSync(path.join(cwd, '.fileconv'))]).toEqual([0, false]);
  });
});

describe('beside a running stack', () => {
  const stack = sharedStackOfTests();

  it('a command uses the task queue that it is told, not that of the stack', async () => {
    const cwd = await folderWithPictures('a.png');
    const env = { ...stack.env, ...onQueue() };
    const worker = startProcess(['worker', '--json'], { cwd, env });
    await worker.untilJson();
    const { stdout } = await fileconv(['convert', 'a.png', '--to', 'webp', '--json'], { cwd, env });
    const { workflowId } = z.object({ workflowId: z.string() }).parse(parseJson(stdout));
    const shown = await fileconv(['job', 'show', workflowId, '--json'], { cwd, env });
    expect(parseJson(shown.stdout)).toMatchObject({ taskQueue: env.FILECONV_WORKER_TASK_QUEUE });
    expect((await worker.end()).code).toBe(0);
  });
});

/** Waits until the command's own stack has a job with an upload at the service. */
async function untilJobRuns(cwd: string): Promise<void> {
  const uploads = path.join(cwd, '.fileconv/service/uploads');
  while (!existsSync(uploads) || (await filesBelow(uploads)).length === 0) await sleep(20);
  await sleep(1_500);
}
