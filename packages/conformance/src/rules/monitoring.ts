import { endpoints, includeItems, isObject } from 'temporal-file-conversion/contract';
import { valueAt } from '../reply';
import { beyond, from, inSection, refuses, type Send } from '../rule';
import { ensure, ensureEqual, ensureItems, ensureOneOf, show } from '../verdict';
import { datetime } from './responses';

/** `task/response`, and "States and transitions" as it shows them. */

const including: Send = async (session, include) =>
  session.monitor(await session.uploaded(), { parameters: { include } });

export const monitoringRules = [
  ...inSection('task/response', {
    async 'It returns the response of any task at any time'(session) {
      const { uploaded, converted, link } = await session.connectors();
      const monitor = await session.monitor(await session.uploaded(), { include: ['entity'] });
      const connectors = {
        [endpoints.taskResponse]: monitor.text('entity.id'),
        [endpoints.uploadFile]: uploaded,
        [endpoints.convertFile]: converted,
        [endpoints.downloadUrl]: link,
      };
      for (const [endpoint, connector] of Object.entries(connectors)) {
        if (connector === undefined) continue;
        const output = (await session.monitor(connector)).at('result.output');
        ensure(isObject(output), `the output for ${endpoint} is ${show(output)}`);
        const described = isObject(output['entity']) ? output['entity']['endpoint'] : undefined;
        ensureEqual(described, endpoint, 'endpoint of the monitored task');
      }
    },
    async 'result.output holds the monitored task’s own entity, payload and result'(session) {
      const { connector, sent, reply: own } = await session.converted();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result.output.entity.id'), connector, 'the id of the monitored task');
      const payload = { app: session.own.appId, ...sent };
      ensureEqual(reply.at('result.output.payload'), payload, 'the payload of the monitored task');
      const output = reply.at('result.output.result.output.connector');
      ensureOneOf(
        output,
        [connector, own.at('result.output.connector')],
        'the connector in the output of the monitored task',
      );
    },
    async 'parameters.include selects from the monitored task’s response'(session) {
      const connector = await session.uploaded();
      for (const include of [['entity'], ['payload', 'result'], ['entity', 'result'], []]) {
        const reply = await session.monitor(connector, { parameters: { include } });
        ensureItems(reply.at('result.output'), include, `what ${show(include)} returns`);
      }
    },
    async 'parameters.include is all three by default'(session) {
      const output = (await session.monitor(await session.uploaded())).at('result.output');
      ensureItems(output, includeItems, 'the items of result.output');
    },
    'parameters.include is an array of strings: anything else is of the wrong type': refuses(
      'parameters.include',
      including,
      [['WRONG_TYPE_PARAMETER'], 'entity', 7, [5]],
    ),
    'parameters.include takes no elements but entity, payload and result': refuses('parameters.include', including, [
      ['INVALID_PARAMETER', 'WRONG_VALUE_PARAMETER'],
      ['everything'],
    ]),
    async 'The outer error and warning are the monitor task’s own, also when the monitored task failed'(session) {
      const { connector } = await session.failed();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result.error'), {}, 'the outer error');
      ensureEqual(reply.at('result.warning'), {}, 'the outer warning');
    },
    async 'The monitored result holds its own output, error and warning'(session) {
      const { connector } = await session.failed();
      const result = (await session.monitor(connector)).at('result.output.result');
      for (const key of ['output', 'error', 'warning']) {
        ensure(isObject(result) && isObject(result[key]), `the monitored result is ${show(result)}`);
      }
    },
    async 'The HTTP status is 200, also when the monitored task failed'(session) {
      const { connector } = await session.failed();
      for (const each of [connector, await session.uploaded()]) {
        ensureEqual((await session.monitor(each)).status, 200, 'the HTTP status');
      }
    },
  }),
  ...beyond('Beyond: task/response', 'client: all', {
    async 'include at the data level does not take the monitored entity out of result.output'(session) {
      const connector = await session.uploaded();
      const reply = await session.monitor(connector, { include: ['entity', 'result'] });
      ensureEqual(reply.at('result.output.entity.id'), connector, 'result.output.entity.id');
    },
    async 'The monitored result of a task that is not completed holds nothing: it is null or empty'(session) {
      const { early } = await session.seenRunning();
      const result = early.at('result.output.result') ?? {};
      ensureEqual(Array.isArray(result) && result.length === 0 ? {} : result, {}, 'the result of a running task');
    },
    ...from('client: Python 1.x and PHP', {
      async 'The output status of a conversion that failed is failed'(session) {
        const { connector } = await session.failed();
        const status = (await session.monitor(connector)).at('result.output.result.output.status');
        ensureEqual(status, 'failed', 'output.status of a failed conversion');
      },
    }),
    ...from('client: Python 2.x', {
      async 'The entity of a conversion that succeeded holds vcredits, also when it consumed none'(session) {
        const { connector } = await session.converted();
        const vcredits = (await session.monitor(connector)).at('result.output.entity.vcredits');
        ensure(Number.isInteger(vcredits), `vcredits of a conversion is ${show(vcredits)}`);
      },
    }),
  }),
  ...inSection('States', {
    async 'A task that finishes well becomes completed'(session) {
      const final = await session.polled();
      ensureEqual(final.at('result.output.entity.status'), 'completed', 'the status');
      ensureEqual(final.at('result.output.result.error'), {}, 'the error of the monitored task');
    },
    async 'A task that completed with an error is completed too; the failure is in result.error'(session) {
      const { connector } = await session.failed();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result.output.entity.status'), 'completed', 'the status of a failed conversion');
      const code = reply.at('result.output.result.error.code');
      ensure(typeof code === 'string', `result.error.code of a failed conversion is ${show(code)}`);
    },
    async 'A task on hold has created_at, and neither started_at nor completed_at'(session) {
      const entity = await session.seenOnHold();
      ensure(typeof entity['created_at'] === 'string', `a task on hold has no created_at: ${show(entity)}`);
      for (const key of ['started_at', 'completed_at']) {
        ensureEqual(entity[key] ?? undefined, undefined, `${key} of a task on hold`);
      }
    },
    async 'A running task has created_at and started_at'(session) {
      const { accepted, early } = await session.seenRunning();
      const entities = [accepted.at('entity'), early.at('result.output.entity')];
      for (const entity of entities) {
        if (valueAt(entity, 'status') !== 'running') continue;
        for (const key of ['created_at', 'started_at']) {
          ensure(typeof valueAt(entity, key) === 'string', `a running task has no ${key}: ${show(entity)}`);
        }
      }
    },
    async 'A task that is not completed has no completed_at'(session) {
      const { accepted, early } = await session.seenRunning();
      for (const at of [accepted.at('entity.completed_at'), early.at('result.output.entity.completed_at')]) {
        ensureEqual(at ?? undefined, undefined, 'completed_at of a running task');
      }
    },
    async 'The timestamps are in the order of the states'(session) {
      const answered = (await session.converted()).reply.at('entity');
      for (const entity of [answered, (await session.finished()).at('result.output.entity')]) {
        const times = ['created_at', 'started_at', 'completed_at'].flatMap((key) => {
          const time = valueAt(entity, key);
          // Another rule checks the shapes.
          return typeof time === 'string' && datetime.test(time) ? [time] : [];
        });
        ensureEqual(times, [...times].sort(), 'the order of the timestamps');
      }
    },
    async 'Output, error and warning of a completed task are final'(session) {
      const { connector } = await session.started();
      const first = await session.finished();
      const second = await session.monitor(connector);
      ensureEqual(second.at('result.output.result'), first.at('result.output.result'), 'the result');
    },
  }),
];
