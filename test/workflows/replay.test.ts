import os from 'node:os';
import path from 'node:path';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { FileConversionPlugin } from '../../src/plugin';
import { workflowCode } from '../../src/workflow-code';
import { installQuietRuntime } from '../support/conversion-worker';
import { historyText, listHistories, readHistory, stepsOf, textsOf, workflowIdOf } from './histories';

/** Every kind of path by the name of its history, with the steps that define it. `npm run record-histories` records them. */
const paths: Record<string, RegExp> = {
  'job-polled': /^uploadFile convertFile checkTask downloadFile completed$/,
  'job-called-back': /^uploadFile convertFile timer conversionCallback checkTask downloadFile completed$/,
  'job-called-back-late':
    /^uploadFile convertFile timer checkTask conversionCallback cancel checkTask downloadFile completed$/,
  'job-callback-lost': /^uploadFile convertFile timer checkTask downloadFile completed$/,
  'job-sync': /^uploadFile convertFile downloadFile completed$/,
  'job-left-at-service': /^uploadFile convertFile checkTask completed$/,
  'job-skipped': /^uploadFile completed$/,
  'job-parked-restored':
    /^uploadFile convertFile convertFile appReady cancel convertFile checkTask downloadFile completed$/,
  'job-parked-overdue': /^uploadFile convertFile convertFile failed$/,
  'job-uploaded-again': /^uploadFile convertFile uploadFile convertFile checkTask downloadFile completed$/,
  'job-unknown-resubmitted': /^uploadFile convertFile timer convertFile checkTask downloadFile completed$/,
  'job-unknown-failed': /^uploadFile convertFile failed$/,
  'job-unknown-called-back': /^uploadFile convertFile timer conversionCallback checkTask downloadFile completed$/,
  'job-unknown-not-called-back':
    /^uploadFile convertFile timer timer convertFile timer conversionCallback checkTask downloadFile completed$/,
  'job-cancelled-converting': /^uploadFile convertFile checkTask cancel cancelled$/,
  'job-cancelled-parked': /^uploadFile convertFile convertFile cancel cancelled$/,
  'job-cancelled-downloading': /^uploadFile convertFile checkTask downloadFile cancel discardDownload cancelled$/,
  'job-failed': /^uploadFile convertFile failed$/,
  'job-source-missing': /^uploadFile failed$/,
  'batch-continued-first-run': /^planBatch timer( child)+( child| timer)+ continued$/,
  'batch-continued-middle-run': /^awaitJobs readBatchItems( child| awaitJobs| timer)+ continued$/,
  'batch-continued-last-run': /^awaitJobs readBatchItems timer (child |awaitJobs )*endRun completed$/,
  'batch-failed-item': /^planBatch timer child child child endRun completed$/,
  'batch-stopped': /^planBatch timer child child endRun completed$/,
  'batch-paused-cancelled':
    /^planBatch timer child batchPause batchWindow batchResume child batchCancel .*endRun completed$/,
  'batch-account-refused': /^planBatch timer child child (conversionItemWaits ){2}batchCancel .*endRun completed$/,
  // The first child existed already: it is looked at, and recalled by the third.
  'batch-run-again': /^planBatch timer child child awaitJobs child endRun completed$/,
  sweep: /^child completed$/,
  'sweep-cancelled': /^child completed$/,
};
const names = Object.keys(paths).sort();

const plugin = new FileConversionPlugin({ apps: {} });
const today: ReplayWorkerOptions = { plugins: [plugin] };

beforeAll(() => installQuietRuntime());

/** The error of each replay, or undefined. */
async function replay(replayed: readonly string[], options: ReplayWorkerOptions) {
  const histories = replayed.map((name) => {
    const history = readHistory(name);
    return { workflowId: workflowIdOf(history), history };
  });
  const outcomes = new Map<string, Error | undefined>();
  let index = 0;
  for await (const { error } of Worker.runReplayHistories(options, histories)) {
    outcomes.set(replayed[index] ?? '', error);
    index += 1;
  }
  return outcomes;
}

/** The workflow bundle after a change to its code. */
function changed(change: (code: string) => string): ReplayWorkerOptions {
  const built = workflowCode();
  if (!('workflowBundle' in built) || !('code' in built.workflowBundle)) throw new Error('npm run build first');
  const { code } = built.workflowBundle;
  const result = change(code);
  if (result === code) throw new Error('This changed nothing.');
  return { plugins: [plugin], workflowBundle: { code: result } };
}

describe('the current workflows', () => {
  let outcomes: Awaited<ReturnType<typeof replay>>;
  beforeAll(async () => (outcomes = await replay(names, today)));

  it.each(names)('replay the history %s', (name) => {
    expect([outcomes.has(name), outcomes.get(name)]).toEqual([true, undefined]);
  });
});

describe('a replay', () => {
  it('fails when two activities are swapped', async () => {
    const swapped = changed((code) =>
      code
        .replace("['conversion.uploadFile'](input)", "['conversion.SWAP'](input)")
        .replace("['conversion.convertFile'](input)", "['conversion.uploadFile'](input)")
        .replace("['conversion.SWAP'](input)", "['conversion.convertFile'](input)"),
    );
    const outcomes = await replay(['job-polled', 'job-parked-restored'], swapped);
    expect(outcomes.get('job-polled')).toBeInstanceOf(DeterminismViolationError);
    expect(outcomes.get('job-parked-restored')).toBeInstanceOf(DeterminismViolationError);
  });

  it('fails when a wait is left out', async () => {
    const impatient = changed((code) => code.replace('await callbacks.wait(', 'void ('));
    const outcomes = await replay(['job-polled', 'job-called-back'], impatient);
    expect(outcomes.get('job-polled')).toBeUndefined();
    expect(outcomes.get('job-called-back')).toBeInstanceOf(DeterminismViolationError);
  });
});

describe('the histories', () => {
  it('cover every kind of path, and no others', () => expect(listHistories()).toEqual(names));

  it.each(names)('%s follows the path of its name', (name) => {
    expect(stepsOf(readHistory(name))).toMatch(paths[name] ?? /^$/);
  });

  it('say nothing about the machine that recorded them, not even in payloads', () => {
    const here = [os.tmpdir(), path.resolve(__dirname, '../..'), `@${os.hostname()}`];
    const elsewhere =
      /\/tmp\/|\/home\/|\/root\/|\/Users\/|\d@|127\.0\.0\.1:(?!8465\b)\d|file:\/\/\/(?!var\/lib\/fileconv\/)/;
    for (const name of names) {
      const texts = textsOf(JSON.parse(historyText(name)));
      // Proves that payloads are searched too.
      expect(texts.some((text) => text.includes('file:///var/lib/fileconv/'))).toBe(true);
      expect(texts.filter((text) => elsewhere.test(text) || here.some((each) => text.includes(each)))).toEqual([]);
    }
  });

  it('are small', () => expect(names.filter((name) => historyText(name).length > 64 * 1024)).toEqual([]));
});
