import { valueAt } from '../reply';
import { inSection, type Rule, rule } from '../rule';
import { ensure, ensureEqual, show } from '../verdict';
import { datetime } from './responses';

/** "States and transitions". */

export const stateRules: Rule[] = inSection('States', [
  rule('A task that finishes well becomes completed', async (session) => {
    const final = await session.finished();
    ensureEqual(final.at('result', 'output', 'entity', 'status'), 'completed', 'the status');
    ensureEqual(final.at('result', 'output', 'result', 'error'), {}, 'the error of the monitored task');
  }),
  rule(
    'A task that completed with an error is completed too; the failure is in result.error',
    { restatedIn: ['Entity keys'] },
    async (session) => {
      const { connector } = await session.failed();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result', 'output', 'entity', 'status'), 'completed', 'the status of a failed conversion');
      const code = reply.at('result', 'output', 'result', 'error', 'code');
      ensure(typeof code === 'string', `result.error.code of a failed conversion is ${show(code)}`);
    },
  ),
  rule(
    'A task on hold has created_at, and neither started_at nor completed_at',
    { restatedIn: ['Entity keys'] },
    async (session) => {
      const entity = await session.seenOnHold();
      ensure(typeof entity['created_at'] === 'string', `a task on hold has no created_at: ${show(entity)}`);
      for (const key of ['started_at', 'completed_at']) {
        ensureEqual(entity[key] ?? undefined, undefined, `${key} of a task on hold`);
      }
    },
  ),
  rule('A running task has created_at and started_at', { restatedIn: ['Entity keys'] }, async (session) => {
    const { accepted, early } = await session.seenRunning();
    const entities = [accepted.at('entity'), early.at('result', 'output', 'entity')];
    for (const entity of entities) {
      if (valueAt(entity, ['status']) !== 'running') continue;
      for (const key of ['created_at', 'started_at']) {
        ensure(typeof valueAt(entity, [key]) === 'string', `a running task has no ${key}: ${show(entity)}`);
      }
    }
  }),
  rule('A task that is not completed has no completed_at', async (session) => {
    const { accepted, early } = await session.seenRunning();
    for (const at of [accepted.at('entity', 'completed_at'), early.at('result', 'output', 'entity', 'completed_at')]) {
      ensureEqual(at ?? undefined, undefined, 'completed_at of a running task');
    }
  }),
  rule('The timestamps are in the order of the states', async (session) => {
    const entity = (await session.finished()).at('result', 'output', 'entity');
    const times = ['created_at', 'started_at', 'completed_at'].flatMap((key) => {
      const time = valueAt(entity, [key]);
      // Shapes are another rule's business.
      return typeof time === 'string' && datetime.test(time) ? [time] : [];
    });
    ensureEqual(times, [...times].sort(), 'the order of the timestamps');
  }),
  rule('Output, error and warning of a completed task are final', async (session) => {
    const { connector } = await session.started();
    const first = await session.finished();
    const second = await session.monitor(connector);
    ensureEqual(second.at('result', 'output', 'result'), first.at('result', 'output', 'result'), 'the result');
  }),
]);
