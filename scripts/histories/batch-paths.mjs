// Every kind of path that a batch can take.
import { quickPolicies, until } from './recording-stack.mjs';

const slowPolls = { kind: 'latency', ms: 300, class: 'poll' };

export const batchPaths = [
  {
    name: 'batch-continued',
    // Jobs that take a while are carried over; quick ones would all end before the next run begins.
    faults: [{ kind: 'latency', ms: 2_000, class: 'poll' }],
    async record(stack, name) {
      const batch = await start(stack, name, { count: 21, window: 3, historyLimit: 45 });
      await ended(batch, { status: 'completed', succeeded: 21 });
      const runs = await runsOf(stack, name);
      if (runs.length < 3) throw new Error(`It had ${runs.length} runs; three are wanted: first, middle and last.`);
      return {
        [`${name}-first-run`]: runs[0],
        [`${name}-middle-run`]: runs[1],
        [`${name}-last-run`]: runs.at(-1),
      };
    },
  },
  {
    name: 'batch-failed-item',
    async record(stack, name) {
      const batch = await start(stack, name, {
        count: 3,
        isTaken: (item) => item === 2,
      });
      await ended(batch, { status: 'completed', succeeded: 2, failed: 1 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'batch-stopped',
    async record(stack, name) {
      const batch = await start(stack, name, { count: 6, window: 1, isTaken: () => true, stopAfter: { failures: 2 } });
      await ended(batch, { status: 'stopped', failed: 2, cancelled: 4 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'batch-paused-cancelled',
    async record(stack, name) {
      const batch = await start(stack, name, { count: 6, window: 1, policies: { firstCheckAfter: '1 hour' } });
      await until('a job converts', async () => {
        const state = await stack.client
          .get(stack.jobOf(name, 'out/1.html'))
          .state()
          .catch(() => undefined);
        return state?.phase === 'converting';
      });
      await batch.pause();
      await batch.setWindow(2);
      await batch.resume();
      await until('two jobs are under way', async () => (await batch.state()).inFlight === 2);
      await batch.cancel();
      await ended(batch, { status: 'cancelled', cancelled: 6 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'batch-account-refused',
    app: { plan: 'free' },
    async record(stack, name) {
      const batch = await start(stack, name, { count: 3, window: 2 });
      await until('both are parked', async () => (await batch.state()).needsAttention?.jobs === 2);
      await batch.cancel();
      await ended(batch, { status: 'cancelled', failed: 0, cancelled: 3 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'batch-run-again',
    faults: [slowPolls],
    async record(stack, name) {
      // The first run is done by hand: its job is found by the batch, and not paid again.
      const destination = stack.place(name, 'out/1.html');
      await stack.client.convert({ app: name, source: stack.write(name, '1.md'), output: 'html', destination });
      const batch = await start(stack, name, { count: 2, onExisting: 'overwrite' });
      await ended(batch, { status: 'completed', succeeded: 1, skipped: 1 });
      return { [name]: await stack.historyOf(name) };
    },
  },
];

/** Starts a batch of so many rows, of which each has a source of its own. */
/** `isTaken`: somebody else's file is where the result is to go, so the job fails. */
async function start(stack, name, { count, isTaken = () => false, policies, ...options }) {
  const rows = Array.from({ length: count }, (_, index) => {
    const item = index + 1;
    stack.write(name, `${item}.md`);
    if (isTaken(item)) stack.write(name, `out/${item}.html`);
    stack.jobOf(name, `out/${item}.html`);
    return `${item}.md,html,out/${item}.html\n`;
  });
  return await stack.client.startBatch({
    name,
    app: name,
    manifest: stack.write(name, 'manifest.csv', `source,output,destination\n${rows.join('')}`),
    runs: stack.place(name, 'batches'),
    policies: { ...quickPolicies, ...policies },
    ...options,
  });
}

async function ended(batch, expected) {
  const result = await batch.result();
  const wrong = Object.keys(expected).filter((key) => result[key] !== expected[key]);
  if (wrong.length > 0) throw new Error(`It ended otherwise: ${JSON.stringify(result)}`);
}

/** The histories of all its runs, in order. */
async function runsOf(stack, name) {
  const { raw } = await stack.temporal.workflow.getHandle(name).describe();
  const histories = [];
  for (let runId = raw.workflowExecutionInfo.firstRunId; runId;) {
    const history = await stack.historyOf(name, runId);
    histories.push(history);
    runId = history.events.at(-1).workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return histories;
}
