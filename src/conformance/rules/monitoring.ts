import { endpoints, includeItems } from '../../api/contract';
import { isObject } from '../reply';
import { inSection, type Rule } from '../rule';
import { ensure, ensureEqual, ensureError, show } from '../verdict';

/** `task/response`: monitoring a task. */

export const taskResponseRules: Rule[] = inSection('task/response', [
  {
    rule: 'It returns the response of any task at any time',
    async check(session) {
      const link = await session.linked();
      const connectors = {
        [endpoints.uploadFile]: await session.uploaded(),
        [endpoints.convertFile]: (await session.converted()).connector,
        [endpoints.downloadUrl]: link.text('result', 'output', 'connector') ?? '',
      };
      for (const [endpoint, connector] of Object.entries(connectors)) {
        const output = (await session.monitor(connector)).at('result', 'output');
        ensure(isObject(output), `the output for ${endpoint} is ${show(output)}`);
        const described = isObject(output['entity']) ? output['entity']['endpoint'] : undefined;
        ensureEqual(described, endpoint, 'endpoint of the monitored task');
      }
    },
  },
  {
    rule: 'result.output holds the monitored task’s own entity, payload and result',
    async check(session) {
      const { connector, sent } = await session.converted();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result', 'output', 'entity', 'id'), connector, 'the id of the monitored task');
      const payload = { app: session.own.appId, ...sent };
      ensureEqual(reply.at('result', 'output', 'payload'), payload, 'the payload of the monitored task');
      const output = reply.at('result', 'output', 'result', 'output', 'connector');
      ensureEqual(output, connector, 'the connector in the output of the monitored task');
    },
  },
  {
    rule: 'parameters.include selects from the monitored task’s response',
    async check(session) {
      const connector = await session.uploaded();
      for (const include of [['entity'], ['payload', 'result'], ['entity', 'result'], []]) {
        const reply = await session.monitor(connector, { parameters: { include } });
        const output = reply.at('result', 'output');
        const keys = includeItems.filter((item) => isObject(output) && item in output);
        ensureEqual(
          keys,
          includeItems.filter((item) => include.includes(item)),
          `what ${show(include)} returns`,
        );
      }
    },
  },
  {
    rule: 'parameters.include is all three by default',
    async check(session) {
      const output = (await session.monitor(await session.uploaded())).at('result', 'output');
      const keys = includeItems.filter((item) => isObject(output) && item in output);
      ensureEqual(keys, [...includeItems], 'the items of result.output');
    },
  },
  {
    rule: 'parameters.include takes an array of entity, payload and result and nothing else',
    async check(session) {
      for (const include of [['everything'], 'entity', 7]) {
        const reply = await session.monitor(await session.uploaded(), { parameters: { include } });
        const codes = ['INVALID_PARAMETER', 'WRONG_TYPE_PARAMETER', 'WRONG_VALUE_PARAMETER'];
        ensureError(reply, codes, `parameters.include ${show(include)}`);
      }
    },
  },
  {
    rule: 'The outer error and warning are the monitor task’s own, also when the monitored task failed',
    async check(session) {
      const { connector } = await session.failed();
      const reply = await session.monitor(connector);
      ensureEqual(reply.at('result', 'error'), {}, 'the outer error');
      ensureEqual(reply.at('result', 'warning'), {}, 'the outer warning');
    },
  },
  {
    rule: 'The monitored result holds its own output, error and warning',
    async check(session) {
      const { connector } = await session.failed();
      const result = (await session.monitor(connector)).at('result', 'output', 'result');
      for (const key of ['output', 'error', 'warning']) {
        ensure(isObject(result) && isObject(result[key]), `the monitored result is ${show(result)}`);
      }
    },
  },
  {
    rule: 'The HTTP status is 200, also when the monitored task failed',
    async check(session) {
      const { connector } = await session.failed();
      for (const each of [connector, await session.uploaded()]) {
        ensureEqual((await session.monitor(each)).status, 200, 'the HTTP status');
      }
    },
  },
]);

export const beyondTaskResponseRules: Rule[] = inSection('Beyond: task/response', [
  {
    rule: 'include at the data level does not take the monitored entity out of result.output',
    async check(session) {
      const connector = await session.uploaded();
      const reply = await session.monitor(connector, { include: ['entity', 'result'] });
      ensureEqual(reply.at('result', 'output', 'entity', 'id'), connector, 'result.output.entity.id');
    },
  },
  {
    rule: 'The result of a monitored task that is not completed is an empty object',
    async check(session) {
      const { early } = await session.seenRunning();
      ensureEqual(early.at('result', 'output', 'result'), {}, 'the result of a running task');
    },
  },
]);
