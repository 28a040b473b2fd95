import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/dev-server';
import { readLiveStack } from '../src/stack/stack-record';
import { fileconv, fileconvProcess, linesOf, newFolder, parseJson, startProcess } from './fileconv';
import { childrenOf, isAlive, untilDead } from './processes';
import { hasScript, openTerminal } from './pseudo-terminal';
import { noisyPng } from './samples';
import { until } from '../../../test/support/until';

const onLinux = process.platform === 'linux' ? it : it.skip;

describe('fileconv up', () => {
  onLinux('prints where everything is, serves commands, refuses a second one, and leaves nothing behind', async () => {
    const cwd = await newFolder();
    const up = startProcess(['up'], { cwd });
    await up.until(/Ctrl-C stops everything/);
    const shown = new Map(linesOf(up.stdout()).map((line) => line.split(/ {2,}/) as [string, string]));
    expect(shown.get('Temporal')).toMatch(/^127\.0\.0\.1:\d+ \(namespace default\)$/);
    expect(shown.get('Worker')).toBe('task queue file-conversion');
    expect(shown.get('State and logs')).toBe(path.join(cwd, '.fileconv'));
    expect((await fetch(shown.get('Temporal UI') ?? '')).status).toBe(200);
    expect((await fetch(`${shown.get('Conversion service') ?? ''}/v1/format/get`)).status).toBe(405);
    expect((await fetch(`${shown.get('Callbacks') ?? ''}/healthz`)).status).toBe(200);
    expect(up.stderr()).toBe('');

    const second = await fileconv(['up'], { cwd });
    expect(second).toMatchObject({ code: 1, stdout: '' });
    const [told = '', ...others] = linesOf(second.stderr);
    expect(others).toEqual([]);
    expect(told.replace(/since [\d :-]+ UTC/, 'since TIME')).toBe(
      `error: Process ${up.child.pid ?? 0} has run the stack of ${cwd}/.fileconv since TIME. Its Temporal UI is ${shown.get('Temporal UI') ?? ''}. Use it (\`fileconv convert ...\`), or stop it: fileconv down`,
    );
    const json = await fileconv(['up', '--json'], { cwd });
    expect(parseJson(json.stdout)).toMatchObject({ error: { code: 'STACK_RUNNING' } });

    const parts = childrenOf(up.child.pid ?? 0);
    expect([...parts.keys()]).toEqual(['temporal']);
    const ended = await up.end();
    expect(ended.code).toBe(0);
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^Stopping; .* next `fileconv up`/)]);
    expect([...parts.values()].filter(isAlive)).toEqual([]);
    expect(existsSync(path.join(cwd, '.fileconv/stack.json'))).toBe(false);
  });

  it('prints one JSON document with --json', async () => {
    const up = startProcess(['up', '--json'], { cwd: await newFolder() });
    await up.untilJson();
    const ended = await up.end('SIGTERM');
    const url: unknown = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(parseJson(ended.stdout)).toEqual({
      pid: up.child.pid,
      startedBy: 'up',
      since: expect.any(String) as unknown,
      temporal: { address: expect.stringMatching(/^127/) as unknown, namespace: 'default', uiUrl: url },
      service: { url },
      callbacks: { url },
      taskQueue: 'file-conversion',
      apps: ['embedded'],
    });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('runs without the Temporal UI with --no-ui, and does not mention it', async () => {
    const up = startProcess(['up', '--no-ui'], { cwd: await newFolder() });
    await up.until(/Ctrl-C stops everything/);
    const { code, stdout } = await up.end('SIGTERM');
    expect(code).toBe(0);
    expect(stdout).not.toContain('Temporal UI');
  });

  onLinux('ends with a line that says why, and with Temporal, when a part throws', async () => {
    const cwd = await newFolder();
    const throwing = path.join(cwd, 'throwing.cjs');
    await writeFile(throwing, "process.once('SIGUSR2', () => { throw new Error('a bug'); });");
    const up = startProcess(['up'], { cwd, env: { NODE_OPTIONS: `--require "${throwing}"` } });
    await up.until(/Ctrl-C stops everything/);
    const temporal = childrenOf(up.child.pid ?? 0).get('temporal') ?? 0;
    up.child.kill('SIGUSR2');
    const ended = await up.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(
      `error: The stack stopped by itself: a bug (logs: ${cwd}/.fileconv/logs). Unfinished jobs continue with the next stack: fileconv up\n`,
    );
    expect(isAlive(temporal)).toBe(false);
  });

  it('finds other ports if the usual ones are taken, and works next to other stacks', async () => {
    const taken = await Promise.all([7233, 8233, 8465].map(occupy));
    const [one, two] = await Promise.all([newFolder(), newFolder()]);
    const stacks = [one, two].map((cwd) => startProcess(['up', '--json'], { cwd }));
    await Promise.all(stacks.map((up) => up.untilJson()));
    await Promise.all([one, two].map((cwd) => writeFile(path.join(cwd, 'a.png'), noisyPng(8))));
    const ended = await Promise.all([one, two].map((cwd) => fileconv(['convert', 'a.png', '--to', 'webp'], { cwd })));
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ]);
    for (const up of stacks) up.child.kill('SIGINT');
    expect((await Promise.all(stacks.map((up) => up.ended))).map(({ code }) => code)).toEqual([0, 0]);
    for (const server of taken) server?.close();
  });

  it.each(['SERVICE', 'CALLBACKS'])('reports a configured port that is taken: %s', async (part) => {
    const cwd = await newFolder();
    const port = await freePort();
    const server = await occupy(port);
    const ended = await fileconv(['up'], { cwd, env: { [`FILECONV_${part}_PORT`]: String(port) } });
    server?.close();
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      expect.stringMatching(new RegExp(`^error: Something else is listening on 127\\.0\\.0\\.1:${port}\\. `)),
    ]);
  });

  onLinux.each(['service/service.json', 'ports.json'])('ends when it cannot write %s', async (file) => {
    const cwd = await newFolder();
    const first = startProcess(['up'], { cwd });
    await first.until(/Ctrl-C stops everything/);
    await first.end();
    const inTheWay = path.join(cwd, '.fileconv', file);
    await rm(inTheWay, { force: true });
    await mkdir(inTheWay);
    const { code, stderr } = await fileconvProcess(['up'], { cwd });
    expect({ code, told: linesOf(stderr) }).toEqual({ code: 1, told: [expect.stringMatching(/^error: .*EISDIR/)] });
  });

  onLinux('says who starts the stack when another has begun to and is not ready yet', async () => {
    const cwd = await newFolder();
    const first = startProcess(['up'], { cwd });
    while (!existsSync(path.join(cwd, '.fileconv/stack.json'))) await sleep(10);
    // Stands for a slow download of Temporal.
    first.child.kill('SIGSTOP');
    const second = await fileconvProcess(['up'], { cwd, env: { TZ: 'Asia/Tokyo' } });
    first.child.kill('SIGCONT');
    expect(second.code).toBe(1);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
    expect(second.stderr).toMatch(
      new RegExp(
        `^error: Process ${first.child.pid ?? 0} has been starting the stack of .*\\.fileconv since ${time} \\(.*\\d UTC\\)\\. Use it as soon as it is there`,
      ),
    );
    await first.end();
  });

  (hasScript ? it : it.skip)('stops all of its parts when its terminal is closed', async () => {
    const cwd = await newFolder();
    const terminal = openTerminal(['up'], { cwd });
    const stateDir = path.join(cwd, '.fileconv');
    await until('it runs', async () => (await readLiveStack(stateDir)) !== undefined);
    const { pid = 0 } = (await readLiveStack(stateDir)) ?? {};
    const parts = [...childrenOf(pid).values()];
    expect(parts).toHaveLength(1);
    terminal.kill('SIGKILL');
    await Promise.all([pid, ...parts].map(untilDead));
    expect(existsSync(path.join(stateDir, 'stack.json'))).toBe(false);
  });

  onLinux('stops what it has started when it is interrupted while it starts', async () => {
    const up = startProcess(['up'], { cwd: await newFolder() });
    const pid = up.child.pid ?? 0;
    while (childrenOf(pid).size === 0) await sleep(10);
    const parts = childrenOf(pid);
    const ended = await up.end();
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual(['error: Interrupted while it started.']);
    expect([...parts.values()].filter(isAlive)).toEqual([]);
  });

  onLinux('leaves a Temporal that `down` ends, too', async () => {
    const cwd = await newFolder();
    const up = startProcess(['up'], { cwd });
    await up.until(/Ctrl-C stops everything/);
    const temporal = childrenOf(up.child.pid ?? 0).get('temporal') ?? 0;
    await up.end('SIGKILL');
    expect(await fileconv(['down'], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The Temporal server of one that was killed is stopped.') as string,
    });
    await untilDead(temporal);
    expect((await fileconv(['down'], { cwd })).stdout).toMatch(/^No stack runs in .*\.fileconv\.\n$/);
  });
});

/** Takes a port, unless another program has it. */
async function occupy(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return await new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
