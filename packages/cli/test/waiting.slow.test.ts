import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionHandle } from '../../../src/client/conversion-handle';
import { quickPolicies, startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { answerRunning } from '../../../test/support/stub-service';
import { until } from '../../../test/support/until';
import { fileconv, linesOf, newFolder, parseJson, startProcess, type RunningProcess } from './fileconv';
import { envOfRig } from './running-stack';

/** Waiting commands say why nothing moves and what to type. */

const app = 'waiting';

let rig: ConversionRig;
let cwd: string;
let env: Record<string, string>;

beforeEach(async () => {
  rig = await startRig({ app });
  cwd = await newFolder();
  env = envOfRig(rig, app);
});

afterEach(() => rig.close());

async function start(): Promise<ConversionHandle> {
  const source = await rig.source('report.md');
  const destination = path.join(rig.folder, 'report.pdf');
  return rig.client.start({ source, output: 'pdf', destination, policies: quickPolicies });
}

const command = (...args: string[]): RunningProcess => startProcess(args, { cwd, env });
const refuse = (endpoint: string, status: number, code: string, headers = {}) =>
  rig.stub.fail(endpoint, status, code, headers);
const neverDone = () => rig.stub.on('task/response', (seen, response) => answerRunning(response, seen.connector));

async function interrupted(running: RunningProcess): Promise<string> {
  const { code, stderr } = await running.end();
  expect(code).toBe(130);
  return stderr;
}

const time = String.raw`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d( UTC| \(.*UTC\))`;

it('job watch and convert report a parked job, with the command that resumes it', async () => {
  refuse('convert/file', 403, 'INSUFFICIENT_VCREDITS');
  const { workflowId } = await start();
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  const watching = command('job', 'watch', workflowId);
  const converting = command('convert', 'a.md', '--to', 'pdf', '--json');
  const cure = `When vCredits were added: fileconv app ready --app ${app}`;
  const waits = (who: string) =>
    new RegExp(`warning: ${who} has been waiting since ${time} for vCredits of app ${app}\\. .*${cure}`);
  await watching.until(waits('report\\.md'));
  await converting.until(waits('a\\.md'));
  expect(await interrupted(watching)).toMatch(/^The job continues without this command\. Come back: /m);
  await interrupted(converting);
  expect(parseJson(converting.stdout())).toMatchObject({ status: 'unfinished' });
});

it('job show and a batch report a rate limit and its end', async () => {
  refuse('convert/file', 429, 'TOO_MANY_REQUESTS', { 'retry-after': '3600' });
  const { workflowId } = await start();
  await mkdir(path.join(cwd, 'in'));
  for (const name of ['a.md', 'b.md']) await writeFile(path.join(cwd, 'in', name), '# A\n');
  const batch = command('batch', 'run', 'in', '--to', 'pdf', '--name', 'limited');
  await batch.until(
    new RegExp(`Batch limited has been waiting since ${time} for the rate limit of app ${app}, until ${time}\\.`),
  );
  await interrupted(batch);
  const shown = await fileconv(['job', 'show', workflowId], { cwd, env });
  expect(shown.stdout).toMatch(new RegExp(`Waits for +the rate limit of app ${app}, until ${time}`));
  const json = await fileconv(['job', 'show', workflowId, '--json'], { cwd, env });
  const until: unknown = expect.any(Number);
  expect(parseJson(json.stdout)).toMatchObject({
    waitsFor: `the rate limit of app ${app}`,
    waiting: { reason: 'rateLimit', until },
    since: until,
    next: `fileconv job watch ${workflowId}`,
  });
});

it('batch watch reports a service that is down and a missing worker', async () => {
  await mkdir(path.join(cwd, 'in'));
  await writeFile(path.join(cwd, 'in/a.md'), '# A\n');
  neverDone();
  const run = command('batch', 'run', 'in', '--to', 'pdf', '--name', 'broken');
  await run.until(/Batch broken: 1 file to convert/);
  await rig.stub.close();
  await run.until(
    new RegExp(
      `Batch broken has been waiting since ${time} for the conversion service of app ${app}\\. .* What is broken: fileconv doctor --app ${app}`,
    ),
  );
  await rig.stopWorker();
  const watching = command('batch', 'watch', 'broken');
  await watching.until(/Batch broken is waiting for a worker: none \w+ .*\. Start one, .*: fileconv worker/);
  expect(await interrupted(watching)).toMatch(
    /Batch broken is waiting for a worker: .*\nDetached from batch broken\. It continues without this command\. Come back: /,
  );
  await interrupted(run);
});

/** Behaves like a service whose process is stopped: it accepts connections and never answers. */
const silent = (...endpoints: string[]) => endpoints.forEach((endpoint) => rig.stub.on(endpoint, () => undefined));

it('Ctrl-C ends a command that waits for the formats of a silent service', async () => {
  silent('format/get', 'convert/graph');
  await mkdir(path.join(cwd, 'in'));
  await writeFile(path.join(cwd, 'in/a.md'), '# A\n');
  const commands: [endpoint: string, line: string, says: RegExp][] = [
    ['format/get', 'convert in/a.md --to pdf', /^error: Interrupted before any job was started\.$/],
    // The batch plans in its workflow, and goes on.
    ['convert/graph', 'batch run in --to pdf', /^Detached from batch /],
  ];
  for (const [endpoint, line, says] of commands) {
    const seen = rig.stub.count(endpoint);
    const running = command(...line.split(' '));
    await until('the question', () => rig.stub.count(endpoint) > seen);
    expect(linesOf(await interrupted(running)).at(-1)).toMatch(says);
  }
});

it('reports a silent service for the list of formats, then for the upload, each time with what to type', async () => {
  silent('format/get', 'upload/file');
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  const args = ['convert', 'a.md', '--to', 'pdf'];
  const running = startProcess(args, { cwd, env: { ...env, FILECONV_TIMEOUTS_HEADERS_SECONDS: '1' } });
  const doctor = `fileconv doctor --app ${app}`;
  await running.until(
    new RegExp(`warning: The conversion service of app ${app} does not answer the question about formats .*${doctor}`),
  );
  await running.until(
    new RegExp(
      `a\\.md has been waiting since ${time} for the attempt under way \\(uploading\\)\\. The service .*${doctor}`,
    ),
  );
  await interrupted(running);
});
