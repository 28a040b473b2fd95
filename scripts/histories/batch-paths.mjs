// Every kind of path that a batch can take.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { quickPolicies, until } from './recording-stack.mjs';

const slowPolls = { kind: 'latency', ms: 300, class: 'poll' };

export const batchPaths = [
  {
    name: 'batch-continued',
    // Jobs that take a while are carried over; quick ones would all end before the next run begins.
    faults: [{ kind: 'latency', ms: 3_000, class: 'poll', every: 3 }],
    async record(stack, name) {
      const batch = await start(stack, name, { count: 20, window: 3, historyLimit: 45 });
      await ended(batch, { status: 'completed', succeeded: 20 });
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
        change: (row) => row.item === 2 && { output: 'nosuchformat' },
      });
      await ended(batch, { status: 'completed', succeeded: 2, failed: 1 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'batch-stopped',
    async record(stack, name) {
      const change = () => ({ output: 'nosuchformat' });
      const batch = await start(stack, name, { count: 6, window: 1, change, stopAfter: { failures: 2 } });
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
          .get(`${name}/1`)
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
      await stack.client.convert(
        { app: name, source: stack.write(name, '1.md'), output: 'html', destination: stack.place(name, 'out/1.html') },
        { workflowId: `${name}/1` },
      );
      const batch = await start(stack, name, { count: 2, onExisting: 'overwrite' });
      await ended(batch, { status: 'completed', succeeded: 2 });
      return { [name]: await stack.historyOf(name) };
    },
  },
];

/** Writes a manifest as a planner would, and starts the batch. */
async function start(stack, name, { count, change = () => false, policies, ...options }) {
  const folder = stack.place(name, 'run-1');
  mkdirSync(folder, { recursive: true });
  mkdirSync(stack.place(name, 'out'), { recursive: true });
  const rows = Array.from({ length: count }, (_, index) => {
    const item = index + 1;
    const source = pathToFileURL(stack.write(name, `${item}.md`)).href;
    const destination = pathToFileURL(stack.place(name, `out/${item}.html`)).href;
    const row = { item, source, output: 'html', destination };
    return { ...row, ...change(row) };
  });
  writeFileSync(path.join(folder, 'manifest.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return await stack.client.startBatch({
    name,
    app: name,
    folder,
    items: count,
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
