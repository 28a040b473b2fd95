// Every kind of path that a sweep can take. A schedule starts sweeps; here they are started by hand, with the same input.
import { createRequire } from 'node:module';
import { quickPolicies, until } from './recording-stack.mjs';

const require = createRequire(import.meta.url);
const { TypedSearchAttributes } = require('@temporalio/common');
const { defaultTaskQueue } = require('../../dist/index.js');
const { toSweepInput } = require('../../dist/client/sweep-schedules.js');
const { conversionSweepType } = require('../../dist/job/names.js');
const { searchAttributes } = require('../../dist/job/search-attributes.js');

export const sweepPaths = [
  {
    name: 'sweep',
    async record(stack, name) {
      stack.write(name, 'in/a.md');
      stack.write(name, 'in/b.md');
      const sweep = await start(stack, name);
      await ended(sweep, { status: 'completed', succeeded: 2 });
      return { [name]: await stack.historyOf(name) };
    },
  },
  {
    name: 'sweep-cancelled',
    async record(stack, name) {
      stack.write(name, 'in/a.md');
      const sweep = await start(stack, name, { policies: { firstCheckAfter: '1 hour' } });
      await until('the job converts', async () => {
        const state = await stack.client
          .get(stack.jobOf(name, 'out/a.html'))
          .state()
          .catch(() => undefined);
        return state?.phase === 'converting';
      });
      await sweep.cancel();
      await ended(sweep, { status: 'cancelled', cancelled: 1 });
      return { [name]: await stack.historyOf(name) };
    },
  },
];

async function start(stack, name, { policies } = {}) {
  const request = {
    name: `${name}-batch`,
    times: { everyMs: 3_600_000 },
    from: stack.place(name, 'in'),
    to: 'html',
    out: stack.place(name, 'out'),
    batchFolder: stack.place(name, 'batches'),
    settledForMs: 1,
    policies: { ...quickPolicies, ...policies },
  };
  return await stack.temporal.workflow.start(conversionSweepType, {
    workflowId: name,
    taskQueue: defaultTaskQueue,
    args: [toSweepInput(request, name)],
    typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.app, value: name }]),
  });
}

async function ended(sweep, expected) {
  const result = await sweep.result();
  const wrong = Object.keys(expected).filter((key) => result[key] !== expected[key]);
  if (wrong.length > 0) throw new Error(`It ended otherwise: ${JSON.stringify(result)}`);
}
