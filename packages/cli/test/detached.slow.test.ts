import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { until } from '../../../test/support/until';
import { fileconv, fileconvProcess, linesOf, newFolder, parseJson, startProcess } from './fileconv';
import { isAlive, untilDead } from './processes';

/** A stack in the background, without a terminal. */

let cwd: string;
beforeEach(async () => (cwd = await newFolder()));
afterEach(() => fileconv(['down'], { cwd }));

const recordSchema = z.object({ pid: z.int(), temporal: z.object({ address: z.string(), uiUrl: z.url() }) });

async function startDetached() {
  const ended = await fileconvProcess(['up', '--detach', '--json'], { cwd });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return recordSchema.parse(parseJson(ended.stdout));
}

const status = async () => {
  const { code, stdout } = await fileconv(['status', '--json'], { cwd });
  return { code, told: parseJson(stdout) };
};

it('serves commands, appears in status, logs and open, and ends with down', async () => {
  expect(await status()).toEqual({ code: 1, told: { running: false } });
  const { pid, temporal } = await startDetached();
  expect(await status()).toMatchObject({ code: 0, told: { running: true, pid, temporal } });
  const second = await fileconvProcess(['up', '--detach'], { cwd });
  const refusal = expect.stringMatching(new RegExp(`^error: Process ${pid} has run the stack`)) as string;
  expect([second.code, second.stdout, linesOf(second.stderr)]).toEqual([1, '', [refusal]]);
  const third = await fileconvProcess(['up', '--detach', '--json'], { cwd });
  expect(parseJson(third.stdout)).toMatchObject({ error: { code: 'STACK_RUNNING' } });
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  const converted = await fileconv(['convert', 'a.md', '--to', 'html', '--json'], { cwd });
  const { workflowId } = z.object({ workflowId: z.string() }).parse(parseJson(converted.stdout));
  const logs = await fileconv(['logs', 'service', '--lines', '1'], { cwd });
  expect(linesOf(logs.stdout)).toEqual([expect.stringContaining('md → html: successful')]);
  const document = parseJson((await fileconv(['logs', 'service', '--lines', '1', '--json'], { cwd })).stdout);
  expect(document).toEqual({ logs: [{ part: 'service', lines: linesOf(logs.stdout) }] });
  expect((await fileconv(['logs', '--follow', '--json'], { cwd })).code).toBe(2);

  // Stands in for a browser.
  const opened = path.join(cwd, 'opened');
  await writeFile(path.join(cwd, 'xdg-open'), `#!/bin/sh\necho "$1" >> "${opened}"\n`);
  await chmod(path.join(cwd, 'xdg-open'), 0o755);
  const env = { PATH: `${cwd}:${process.env['PATH'] ?? ''}` };
  const pageOfJob = `${temporal.uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`;
  for (const [name, page] of [
    [[], temporal.uiUrl],
    [[workflowId], pageOfJob],
  ] as const) {
    expect(await fileconv(['open', ...name], { cwd, env })).toMatchObject({ code: 0, stdout: `${page}\n`, stderr: '' });
  }
  expect(linesOf(await readFile(opened, 'utf8'))).toEqual([temporal.uiUrl, pageOfJob]);
  const unknown = await fileconv(['open', 'nobody'], { cwd, env });
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/^error: There is no job and no batch nobody\. See: /);

  const follower = startProcess(['logs', 'up', '--follow'], { cwd });
  await follower.until(/Temporal UI/);
  expect(await fileconv(['down', '--json'], { cwd })).toMatchObject({ code: 0 });
  await follower.until(/^Stopping; /m);
  expect(await follower.end()).toMatchObject({ code: 0 });
  await untilDead(pid);
  expect(await status()).toEqual({ code: 1, told: { running: false } });
});

it('down spares an unrelated process that has reused the pid of a killed stack', async () => {
  const { pid } = await startDetached();
  const holderFile = path.join(cwd, '.fileconv/stack.json');
  const holder = z.looseObject({ pid: z.int() }).parse(parseJson(await readFile(holderFile, 'utf8')));
  process.kill(pid, 'SIGKILL');
  await untilDead(pid);
  const stranger = startProcess(['logs', 'up', '--follow'], { cwd });
  await stranger.until(/Temporal UI/);
  const other = stranger.child.pid ?? 0;
  await writeFile(`${holderFile}.new`, JSON.stringify({ ...holder, pid: other }));
  await rename(`${holderFile}.new`, holderFile);
  const ended = await fileconv(['down'], { cwd });
  expect(ended.code).toBe(0);
  // Its Temporal server may or may not have ended by now.
  expect(ended.stdout.replace(' The Temporal server of one that was killed is stopped.', '')).toBe(
    `No stack runs in ${cwd}/.fileconv.\n`,
  );
  expect(isAlive(other)).toBe(true);
  await stranger.end();
  // The next start ends the Temporal server that was left over.
  await startDetached();
});

it('down gives up on a stack that hangs and says how to kill it', async () => {
  const { pid } = await startDetached();
  process.kill(pid, 'SIGSTOP');
  const env = {
    FILECONV_WORKER_SHUTDOWN_GRACE_SECONDS: '1',
    FILECONV_TIMEOUTS_HEADERS_SECONDS: '1',
    FILECONV_POLICIES_SUBMIT_TIMEOUT: '1 second',
  };
  const ended = await fileconvProcess(['down'], { cwd, env });
  process.kill(pid, 'SIGCONT');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(linesOf(ended.stderr).at(-1)).toMatch(
    new RegExp(`^error: Process ${pid} does not stop\\. .*: kill -9 ${pid}; fileconv down$`),
  );
});

it('a stack that can’t start says why, once, and leaves nothing running', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const env = { FILECONV_WORKER_HEALTH_ADDRESS: `127.0.0.1:${(taken.address() as AddressInfo).port}` };
  const ended = await fileconvProcess(['up', '--detach'], { cwd, env });
  taken.close();
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^error: .*health_address/)]);
  await until('nothing runs', async () => (await status()).code === 1);
});

it('shows the lines of a Temporal that does not start as lines', async () => {
  const broken = path.join(cwd, 'broken-temporal');
  await writeFile(broken, '#!/bin/sh\n[ "$1" = server ] || exec echo Server 1.99.0\necho one\necho two\nexit 1\n');
  await chmod(broken, 0o755);
  const { code, stderr } = await fileconvProcess(['up', '--detach'], { cwd, env: { TEMPORAL_CLI_PATH: broken } });
  expect(code).toBe(1);
  expect(linesOf(stderr).slice(-2)).toEqual(['error:   one', 'error:   two']);
});
