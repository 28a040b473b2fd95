import { isDeepStrictEqual } from 'node:util';
import { endpoints, includeItems } from 'temporal-file-conversion/contract';
import { isObject } from '../reply';
import { inSection, rule, type SectionRule } from '../rule';
import type { Session } from '../session';
import { ensure, ensureEqual, ensureItems, ensureMatches, ensureOneOf, show, Undecided } from '../verdict';

/** "Task response body", "Entity keys", "Result keys" and "Output of the convert-file task". */

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const datetime = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)$/;

const subsets = [[], ['entity'], ['payload'], ['result'], ['entity', 'payload'], ['payload', 'result'], includeItems];

const bodyRules = inSection('Task response body', [
  rule(
    'entity, payload and result are present when include asks for them, and only then',
    { restatedIn: ['Data keys', 'convert/file', 'task/response'] },
    async (session) => {
      const connector = await session.uploaded();
      const { sent } = await session.converted();
      for (const include of subsets) {
        const replies = [
          await session.monitor(connector, { include }),
          await session.submit({ ...sent, connector, include }),
        ];
        for (const reply of replies) {
          ensureItems(reply.json, include, `what include ${show(include)} returns`);
        }
      }
    },
  ),
  rule(
    'A refused request is a task too: include counts for its answer, and the entity is that of a task to ask for',
    { restatedIn: ['Data keys', 'Errors'] },
    async (session) => {
      const connector = '00000000-0000-4000-8000-000000000000';
      const refused = [
        { connector, mode: 'later', parameters: { output: 'pdf' } },
        { connector, parameters: {} },
        { connector, parameters: { output: 'pdf' } },
      ];
      for (const data of refused) {
        const what = `the refusal of ${JSON.stringify(data)}`;
        const bare = await session.post(endpoints.convertFile, { ...data, include: ['entity', 'payload'] });
        ensureItems(bare.json, ['entity', 'payload'], `what include ["entity","payload"] returns of ${what}`);
        ensureEqual(bare.at('payload', 'connector'), connector, `the connector in the payload of ${what}`);
        const monitored = await session.monitor(bare.text('entity', 'id') ?? '');
        const code = monitored.at('result', 'output', 'result', 'error', 'code');
        ensure(typeof code === 'string', `the monitored error of ${what} is ${show(code)}`);
      }
    },
  ),
  rule('payload is exactly what was sent in the field data', async (session) => {
    const connector = await session.uploaded();
    const asked = { connector, include: ['payload'], parameters: { include: ['entity'] } };
    const sent = { parameters: asked.parameters, app: session.own.appId, include: asked.include, connector };
    ensureEqual((await session.monitor(connector, sent)).at('payload'), sent, 'payload');
    const { reply, sent: conversion } = await session.converted();
    ensureEqual(reply.at('payload'), { app: session.own.appId, ...conversion }, 'payload');
  }),
]);

/** Every kind of task that an entity can describe, with what made it. */
async function entities(session: Session): Promise<[string, unknown][]> {
  const include = ['entity', 'result'];
  const upload = await session.upload({}, { include });
  return [
    [endpoints.uploadFile, upload.at('entity')],
    [endpoints.convertFile, (await session.converted()).reply.at('entity')],
    [endpoints.downloadUrl, (await session.linked()).at('entity')],
    [endpoints.taskResponse, (await session.monitor(await session.uploaded(), { include })).at('entity')],
  ];
}

async function forEachEntity(session: Session, check: (entity: Record<string, unknown>, endpoint: string) => void) {
  for (const [endpoint, entity] of await entities(session)) {
    ensure(isObject(entity), `the entity of ${endpoint} is ${show(entity)}`);
    check(entity, endpoint);
  }
}

function timestampRule(key: string, state: string): SectionRule {
  return rule(
    `${key} is the time the status became ${state}, as YYYY-MM-DD HH:MM:SS`,
    { restatedIn: ['States'] },
    (session) =>
      forEachEntity(session, (entity, endpoint) => ensureMatches(entity[key], datetime, `${key} of ${endpoint}`)),
  );
}

const entityRules = inSection('Entity keys', [
  rule('id is a uuid', (session) =>
    forEachEntity(session, (entity, endpoint) => ensureMatches(entity['id'], uuid, `id of ${endpoint}`)),
  ),
  rule('id is unique', async (session) => {
    const seen = new Set<unknown>();
    for (const [endpoint, entity] of [...(await entities(session)), ...(await entities(session)).slice(0, 1)]) {
      const id = isObject(entity) ? entity['id'] : undefined;
      ensure(!seen.has(id), `${endpoint}: another task has the id ${show(id)} too`);
      seen.add(id);
    }
  }),
  rule('id equals the connector that the task produces', { restatedIn: ['convert/file'] }, async (session) => {
    const replies = [
      await session.upload({}, { include: ['entity', 'result'] }),
      (await session.converted()).reply,
      await session.linked(),
    ];
    for (const reply of replies) {
      ensureEqual(reply.at('entity', 'id'), reply.at('result', 'output', 'connector'), 'entity.id');
    }
  }),
  rule('type is task', (session) =>
    forEachEntity(session, (entity, endpoint) => ensureEqual(entity['type'], 'task', `type of ${endpoint}`)),
  ),
  rule('endpoint is the path of the task with its version segment', (session) =>
    forEachEntity(session, (entity, endpoint) => ensureEqual(entity['endpoint'], endpoint, 'endpoint')),
  ),
  rule('status is hold, running or completed', async (session) => {
    await forEachEntity(session, (entity, endpoint) =>
      ensureOneOf(entity['status'], ['hold', 'running', 'completed'], `status of ${endpoint}`),
    );
    const { accepted, early } = await session.started();
    for (const status of [accepted.at('entity', 'status'), early.at('result', 'output', 'entity', 'status')]) {
      ensureOneOf(status, ['hold', 'running', 'completed'], 'status of a conversion');
    }
  }),
  rule('vcredits is a whole number, 0 or more, where it is present', async (session) => {
    await forEachEntity(session, ({ vcredits }, endpoint) => {
      const isCount = typeof vcredits === 'number' && Number.isInteger(vcredits) && vcredits >= 0;
      ensure(vcredits === undefined || isCount, `vcredits of ${endpoint} is ${show(vcredits)}`);
    });
  }),
  rule(
    'vcredits is present when a task consumes vCredits and completes successfully',
    { restatedIn: ['States', 'Limits'], needs: 'pricedApp' },
    async (session) => {
      const { reply } = await session.convert({ as: session.capability('pricedApp') });
      const vcredits = reply.at('entity', 'vcredits');
      ensure(Number.isInteger(vcredits), `vcredits of a conversion is ${show(vcredits)}: ${reply.describe()}`);
    },
  ),
  rule('vcredits is absent or 0 when a task did not complete successfully', async (session) => {
    const { reply } = await session.failed();
    ensureEqual(reply.at('entity', 'vcredits') ?? 0, 0, 'vcredits of a failed conversion');
  }),
  timestampRule('created_at', 'hold'),
  timestampRule('started_at', 'running'),
  timestampRule('completed_at', 'completed'),
]);

const resultRules = inSection('Result keys', [
  rule('output is an object', async (session) => {
    for (const reply of [await session.linked(), (await session.converted()).reply, (await session.failed()).reply]) {
      const output = reply.at('result', 'output');
      ensure(isObject(output), `output is ${show(output)}`);
    }
  }),
  rule('error is an empty object when there is no error', async (session) => {
    const { reply } = await session.converted();
    for (const each of [reply, await session.linked(), await session.monitor(await session.uploaded())]) {
      ensureEqual(each.at('result', 'error'), {}, 'error');
    }
  }),
  rule('error holds a code and a message when the task failed', { restatedIn: ['Errors'] }, async (session) => {
    const refused = await session.raw({ path: endpoints.taskResponse, body: '' });
    for (const reply of [refused, (await session.failed()).reply]) {
      ensureMatches(reply.at('result', 'error', 'code'), /^[A-Z][A-Z0-9_]*$/, 'error.code');
      ensureMatches(reply.at('result', 'error', 'message'), /\S/, 'error.message');
    }
  }),
  rule('warning is an empty object when there are no warnings', async (session) => {
    for (const reply of [await session.linked(), await session.monitor(await session.uploaded())]) {
      ensureEqual(reply.at('result', 'warning'), {}, 'warning');
    }
  }),
  rule('warning has names for keys, and says how to resolve each', async (session) => {
    const { reply } = await session.convertedWithLoss();
    const warning = reply.at('result', 'warning');
    if (isDeepStrictEqual(warning, {})) throw new Undecided('no conversion with a warning is known for this service');
    ensure(isObject(warning), `warning is ${show(warning)}`);
    for (const [name, advice] of Object.entries(warning)) ensureMatches(advice, /\S/, `the warning ${name}`);
  }),
]);

const outputRules = inSection('Output of convert-file', [
  rule(
    'connector is a uuid, and the next task of the job takes it',
    { restatedIn: ['convert/file'] },
    async (session) => {
      const { reply } = await session.converted();
      const connector = reply.at('result', 'output', 'connector');
      ensureMatches(connector, uuid, 'output.connector');
      ensureEqual((await session.linked()).errorCode, undefined, 'the error of download/url with it');
    },
  ),
  rule('status is successful after a conversion that was', { restatedIn: ['States'] }, async (session) => {
    const { reply } = await session.converted();
    ensureEqual(reply.at('result', 'output', 'status'), 'successful', 'output.status');
  }),
  rule('duration is a whole number, 0 or more', async (session) => {
    const duration = (await session.converted()).reply.at('result', 'output', 'duration');
    const isCount = typeof duration === 'number' && Number.isInteger(duration) && duration >= 0;
    ensure(isCount, `output.duration is ${show(duration)}`);
  }),
]);

export const responseRules = [...bodyRules, ...entityRules, ...resultRules, ...outputRules];
