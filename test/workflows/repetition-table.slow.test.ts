import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspectJob } from '../../src/client/operations/inspect-job';
import type { RetryOptions } from '../../src/client/operations/retry-job';
import type { OnUnknownOutcome } from '../../src/job/types';
import { BatchDesk } from '../support/batch-desk';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { decisionAbout, retryJob } from '../support/retry';
import { answerCompleted, answerError, answerOutput, cut } from '../support/stub-service';

/** Every cell of the table in docs/repetition.md, for `batch run`, `batch retry` and `job retry`, counted at the service. */

/** How the last job ended, in the words of the table's rows. Each state is played by a file of the same name. */
const states = {
  accepted: 'accepted, not delivered',
  lost: 'accepted, and the service has lost the task',
  unknown: 'unknown outcome',
  refused: 'refused, or never submitted',
  failed: 'failed at the service, which is free',
  done: 'done, the result stands',
  removed: 'done, the result was removed',
  suspect: 'delivered, and suspect',
} as const;
type State = keyof typeof states;
/** Accepts all files but `suspect`. */
const check = 'command';
const names = Object.keys(states) as State[];

/** The cells of the table, translated to: number of submits, status of the row, mark. */
const meanings: Readonly<Record<string, string>> = {
  fetched: '0 succeeded',
  converted: '1 succeeded',
  'converted, marked': '1 succeeded marked',
  kept: '0 failed',
  'stays suspect': '0 suspect',
  fails: '0 failed',
  'nothing is sent': '0 skipped',
};

const table = readFileSync(path.resolve(__dirname, '../../docs/repetition.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const [head = [], ...body] = table;

function cellsOf(title: string): Record<State, string> {
  const column = head.indexOf(title);
  return fromStates((state) => {
    const said = body.find(([name]) => name === states[state])?.[column] ?? '';
    return meanings[said] ?? `no meaning: ${said}`;
  });
}

interface Column {
  policy: OnUnknownOutcome;
  resubmit?: true;
  again?: true;
  otherContent?: true;
}

const columns: Record<string, Column> = {
  'Policy `resubmit`': { policy: 'resubmit' },
  'Policy `fail`': { policy: 'fail' },
  '`--resubmit`': { policy: 'fail', resubmit: true },
  'Another content, or other options': { policy: 'fail', otherContent: true },
  '`--again`': { policy: 'fail', again: true },
};

const rig = rigOfEachTest({ checkCommand: { argv: ['grep', '-qvs', 'bad'] } });

/** Makes the service treat each file as its name says. `occupy` is called just before the file's result is fetched. */
function playStates(occupy: (state: State) => Promise<void>) {
  playSuspect();
  rig.stub.on('convert/file', (seen, response, stub) => {
    const file = stub.fileOf(seen);
    if (file === 'refused.md') answerError(response, 400, 'INVALID_PARAMETER');
    else if (file === 'unknown.md') {
      stub.convert(seen);
      cut(response);
    } else stub.answerAsAlways(seen, response);
  });
  rig.stub.on('task/response', async ({ connector: id }, response, stub) => {
    const state = path.parse(stub.conversions.get(id) ?? '').name as State;
    if (state === 'failed') stub.conversions.delete(id);
    if (state === 'accepted' || state === 'lost') await occupy(state);
    const error = { code: 'FAILED_CONVERT', message: 'failed.' };
    answerCompleted(response, id, state === 'failed' ? { error } : {});
  });
}

/** The result of `suspect` is the only one that the worker's check command rejects. */
function playSuspect() {
  rig.stub.on('download/url', ({ data: { connector } }, response) => answerOutput(response, { connector }));
  rig.stub.on('download/url/get', ({ data: { connector } }, response, stub) => {
    response.end(stub.conversions.get(String(connector)) === 'suspect.md' ? 'PK bad' : stub.output);
  });
}

/** From here on the service accepts everything, but has lost the task of `lost`. */
function playFair() {
  const lost = new Set([...rig.stub.conversions].flatMap(([id, file]) => (file === 'lost.md' ? [id] : [])));
  rig.stub.asAlways('convert/file', 'download/url', 'download/url/get');
  rig.stub.on('task/response', ({ connector: id }, response) => {
    if (lost.has(id)) answerError(response, 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    else answerCompleted(response, id);
  });
}

function conversionsByState(): Record<State, number> {
  const files = [...rig.stub.conversions.values()];
  return fromStates((state) => files.filter((file) => file === `${state}.md`).length);
}

function fromStates<T>(value: (state: State) => T): Record<State, T> {
  return Object.fromEntries(names.map((state) => [state, value(state)])) as Record<State, T>;
}

it('the table in the documentation has exactly these rows and columns', () =>
  expect([body.map(([name]) => name), head.slice(1)]).toEqual([Object.values(states), Object.keys(columns)]));

describe.each(Object.entries(columns))('%s', (title, { policy, otherContent, ...options }) => {
  const cells = cellsOf(title);
  it.each(['run', 'retry'] as const)('with batch %s, which has nothing to do a second time', async (command) => {
    const desk = new BatchDesk(rig, policy, { policies: { check } });
    for (const state of names) await desk.put(`${state}.md`);
    playStates((state) => writeFile(desk.output(`${state}.pdf`), 'mine', { flag: 'w' }));
    await mkdir(path.dirname(desk.output('accepted.pdf')), { recursive: true });
    await desk.run();
    playFair();
    await Promise.all(['accepted', 'lost', 'removed'].map((state) => rm(desk.output(`${state}.pdf`))));
    if (otherContent) for (const state of names) await desk.put(`${state}.md`, '# another\n');
    const before = conversionsByState();

    const { rows } = await desk[command](options);
    const after = conversionsByState();
    const seen = fromStates((state) => {
      const row = rows[`${state}.pdf`];
      return `${after[state] - before[state]} ${row?.status}${row?.possiblyChargedTwice ? ' marked' : ''}`;
    });
    // `retry` considers only rows that have not succeeded, and with `--again` those whose result is gone.
    const untouched = { done: '0 skipped', removed: options.again ? cells.removed : '0 skipped' };
    expect(seen).toEqual({ ...cells, ...(command === 'retry' && untouched) });
    expect(await desk.problems()).toEqual([]);

    expect((await desk[command]()).planned).toMatchObject({ todo: 0 });
    expect(conversionsByState()).toEqual(after);
  });
});

describe('job retry decides as under policy fail, whatever the policy', () => {
  const free = { refused: '1', failed: '1', done: 'done' };
  it.each<[RetryOptions, Record<State, string>]>([
    [{}, { ...free, suspect: 'keep', accepted: '0', lost: '0', unknown: 'keep', removed: '0' }],
    [
      { resubmit: true },
      { ...free, suspect: 'keep', accepted: '0', lost: '1 marked', unknown: '1 marked', removed: '0' },
    ],
    [
      { again: true },
      { ...free, suspect: '1', accepted: '1 marked', lost: '1 marked', unknown: '1 marked', done: '1', removed: '1' },
    ],
  ])('with %j', async (options, expected) => {
    const output = (state: State) => path.join(rig.folder, 'out', `${state}.pdf`);
    await mkdir(path.join(rig.folder, 'out'));
    playStates((state) => writeFile(output(state), 'mine'));
    const jobs = new Map<State, string>();
    for (const state of names) {
      const source = await rig.source(`${state}.md`);
      const policies = { ...quickPolicies, check, onUnknownOutcome: 'resubmit', maxResubmissions: 0 } as const;
      const asked = { source, output: 'pdf', destination: output(state), policies };
      const job = await rig.client.start({ ...asked, ...(state === 'done' && { onExisting: 'overwrite' }) });
      jobs.set(state, job.workflowId);
    }
    await Promise.allSettled([...jobs.values()].map((id) => rig.client.get(id).result()));
    playFair();
    await Promise.all((['accepted', 'lost', 'removed'] as const).map((state) => rm(output(state))));
    const before = conversionsByState();

    const seen = new Map<State, string>();
    for (const [state, workflowId] of jobs) {
      const decision = await decisionAbout(rig.temporal, workflowId, options);
      if (decision === 'keep' || decision === 'done') {
        seen.set(state, decision);
        continue;
      }
      const job = await retryJob(rig.temporal, workflowId, options);
      await job.result().catch(() => undefined);
      const sent = conversionsByState()[state] - before[state];
      const { possiblyChargedTwice } = await inspectJob(rig.temporal, workflowId);
      seen.set(state, `${sent}${possiblyChargedTwice ? ' marked' : ''}`);
    }
    expect(Object.fromEntries(seen)).toEqual(expected);
  });
});
