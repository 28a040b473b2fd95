import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ResultCheck } from '../../src/job/types';
import { jobIdOf } from '../../src/job/job-id';
import { BatchDesk } from '../support/batch-desk';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { decisionAbout, retryJob } from '../support/retry';

/** The operator's check command. It gets the path of the result as its last argument. */
const script = `
case $(cat "$1") in *killed*) [ -e "$0" ] || { touch "$0"; kill -9 $$; } ;; esac
case $(cat "$1") in *good*) exit 0 ;; esac
echo "not good: $1" >&2; exit 3`;

const mark = path.join(tmpdir(), `suspect-results-${process.pid}`);
beforeEach(() => rm(mark, { force: true }));
const rig = rigOfEachTest({ checkCommand: { argv: ['/bin/sh', '-c', script, mark] } });

const good = Buffer.from('PK good');
const bad = Buffer.from('PK bad');
const out = (name = '') => path.join(rig.folder, 'out', name);

async function convert(check: ResultCheck, { onExisting = 'fail', again = false } = {}) {
  const request = await rig.request({ output: 'docx', destination: out('report.docx'), policies: { check } });
  const asked = { ...request, onExisting: onExisting as 'fail', policies: { ...quickPolicies, check } };
  return rig.client.convert(asked, again ? { again: true } : {});
}

const failureOf = async (...asked: Parameters<typeof convert>): Promise<ConversionFailedError> =>
  convert(...asked).then(
    () => Promise.reject(new Error('the job did not fail')),
    (error: unknown) => error as ConversionFailedError,
  );

it("gives a result its name once the worker's check command accepts it, without an extra step", async () => {
  rig.stub.output = good;
  const { output, taskId } = await convert('command');
  expect([await readdir(out()), await readFile(out('report.docx'))]).toEqual([['report.docx'], good]);
  expect([output?.bytes, taskId]).toEqual([good.length, expect.anything()]);
  const workflowId = jobIdOf(pathToFileURL(out('report.docx')).href);
  expect(await rig.steps(workflowId)).toEqual(['uploadFile', 'convertFile', 'checkTask', 'downloadFile']);
});

it('delivers a suspect result beside its untouched destination, and never converts it again without being told', async () => {
  rig.stub.output = bad;
  await mkdir(out());
  await writeFile(out('report.docx'), 'of last year');
  await writeFile(out('report.docx.suspect'), 'of somebody');

  const { code, message, details, workflowId } = await failureOf('command', { onExisting: 'overwrite' });
  const beside = pathToFileURL(out('report.docx (1).suspect')).href;
  expect(code).toBe('RESULT_SUSPECT');
  expect(message).toContain(
    `The result is refused by sh: not good: the result. It is paid for, and stands at ${beside}`,
  );
  expect(message).not.toContain('job retry');
  expect(details).toMatchObject({ charge: 'yes', output: { uri: beside, bytes: bad.length } });
  expect(await readFile(out('report.docx'), 'utf8')).toBe('of last year');
  expect(await readFile(out('report.docx.suspect'), 'utf8')).toBe('of somebody');
  expect(await readFile(out('report.docx (1).suspect'))).toEqual(bad);

  expect(await failureOf('command', { onExisting: 'overwrite' })).toMatchObject({
    code: 'RESULT_SUSPECT',
    details: { kept: true, charge: 'yes', requests: 0, output: { uri: beside } },
  });
  expect(await decisionAbout(rig.temporal, workflowId, { resubmit: true })).toBe('keep');
  expect(rig.stub.count('convert/file')).toBe(1);

  rig.stub.output = good;
  await (await retryJob(rig.temporal, workflowId, { again: true })).result();
  expect([await readFile(out('report.docx')), rig.stub.count('convert/file')]).toEqual([good, 2]);
});

it('is done once somebody has accepted a suspect result by renaming it', async () => {
  rig.stub.output = bad;
  await failureOf('command');
  await rename(out('report.docx.suspect'), out('report.docx'));
  const { status, output, charge } = await convert('command', { onExisting: 'skip' });
  expect([status, output?.name, charge]).toEqual(['skipped', 'report.docx', 'yes']);
  expect(rig.stub.count('convert/file')).toBe(1);
});

it('tries again if the check command was killed, which says nothing about the result', async () => {
  rig.stub.output = Buffer.from('PK killed once, and good');
  expect((await convert('command')).status).toBe('succeeded');
  expect([await readdir(out()), rig.stub.count('download/url/get')]).toEqual([['report.docx'], 2]);
});

it('accepts as its own a suspect result that a lost attempt has delivered', async () => {
  rig.stub.output = Buffer.from('PK killed once, and bad');
  await mkdir(out());
  await writeFile(out('report.docx.suspect'), rig.stub.output);
  expect((await failureOf('command')).details?.output?.name).toBe('report.docx.suspect');
  expect(await readdir(out())).toEqual(['report.docx.suspect']);
});

it("appears in a batch's rows, counts, report, ledger and receipt", async () => {
  rig.stub.on('download/url/get', (_seen, response, stub) => void response.end(stub.output));
  const desk = new BatchDesk(rig, 'resubmit', { policies: { check: 'command' } });
  await desk.put('a.md');
  rig.stub.output = bad;
  const first = await desk.run();
  expect(first.rows['a.pdf']).toMatchObject({
    status: 'suspect',
    code: 'RESULT_SUSPECT',
    charge: 'yes',
    output: { name: 'a.pdf.suspect' },
  });
  expect(first.result).toMatchObject({ failed: 1, suspect: 1, kept: 0, failures: { RESULT_SUSPECT: 1 } });
  const report = JSON.parse(await readFile(new URL('report.json', first.result.folder), 'utf8')) as object;
  expect(report).toMatchObject({ suspect: 1, counts: { failed: 1 }, receipt: { charged: { conversions: 1 } } });
  expect(await readFile(new URL('report.csv', first.result.folder), 'utf8')).toMatch(/^1,suspect,.*a\.pdf\.suspect/m);

  rig.stub.output = good;
  for (const command of ['run', 'retry'] as const) {
    const { rows, planned, result } = await desk[command]();
    expect(rows['a.pdf']).toMatchObject({ status: 'suspect', kept: true, output: { name: 'a.pdf.suspect' } });
    expect([planned.todo, result.suspect, result.kept]).toEqual([0, 1, 0]);
  }
  await rename(desk.output('a.pdf.suspect'), desk.output('a.pdf'));
  expect((await desk.run()).planned).toMatchObject({ todo: 0, done: 1, missing: 0 });
  await rm(desk.output('a.pdf'));
  await desk.put('a.md', '# changed\n');
  expect((await desk.run()).rows['a.pdf']).toMatchObject({ status: 'succeeded' });
  expect([rig.stub.count('convert/file'), await desk.problems()]).toEqual([2, []]);
});

it('is not reported again by a schedule that has reported it before', async () => {
  rig.stub.output = bad;
  const desk = new BatchDesk(rig, 'resubmit', { policies: { check: 'command' }, isScheduled: true });
  await desk.put('a.md');
  expect((await desk.run()).result.folder).toBeDefined();
  const { result } = await desk.run();
  expect([result.folder, result.suspect]).toEqual([undefined, 1]);
});

it('marks a result as suspect if it does not open', async () => {
  rig.stub.output = good;
  expect(await failureOf('opens')).toMatchObject({
    code: 'RESULT_SUSPECT',
    message: expect.stringContaining('The result does not open: its zip directory is missing or damaged.') as string,
  });
});

describe('a worker without a check command', () => {
  const poor = rigOfEachTest();

  it('fails a job that asks for one before it sends anything', async () => {
    await expect(poor.client.convert(await poor.request({ policies: { check: 'command' } }))).rejects.toMatchObject({
      code: 'CHECK_UNAVAILABLE',
      message: expect.stringContaining('worker.check_command') as string,
    });
    expect(poor.stub.requests).toEqual([]);
  });
});
