import { isDeepStrictEqual } from 'node:util';
import { endpoints, includeItems, isObject } from 'temporal-file-conversion/contract';
import { createForm } from '../http';
import { valueAt } from '../reply';
import { type Check, inSection } from '../rule';
import type { Session } from '../session';
import { noId } from '../target';
import {
  ensure,
  ensureEqual,
  ensureItems,
  ensureMatches,
  ensureOneOf,
  ifSeen,
  isAccepted,
  isCount,
  show,
  Undecided,
} from '../verdict';

/** "Task response body", "Entity keys", "Result keys" and "Output of the convert-file task". */

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const datetime = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)$/;

const subsets = [[], ['entity'], ['payload'], ['result'], ['entity', 'payload'], ['payload', 'result'], includeItems];

/** An entity of every kind of task, with its endpoint; and that of a conversion as it is monitored. */
async function entities(session: Session): Promise<[endpoint: string, entity: unknown, what?: string][]> {
  const include = ['entity', 'result'];
  const upload = await session.upload({}, { include });
  const monitor = await session.monitor(await session.uploaded(), { include });
  const seen: [endpoint: string, entity: unknown, what?: string][] = [
    [endpoints.uploadFile, upload.at('entity')],
    [endpoints.convertFile, (await session.converted()).reply.at('entity')],
    [endpoints.taskResponse, monitor.at('entity')],
  ];
  for (const link of await ifSeen(session.linked())) seen.push([endpoints.downloadUrl, link.at('entity')]);
  for (const final of await ifSeen(session.finished())) {
    seen.push([endpoints.convertFile, final.at('result.output.entity'), 'a monitored conversion']);
  }
  return seen;
}

function ofEntities(check: (entity: Record<string, unknown>, what: string, endpoint: string) => void): Check {
  return async (session) => {
    for (const [endpoint, entity, what = endpoint] of await entities(session)) {
      ensure(isObject(entity), `the entity of ${what} is ${show(entity)}`);
      check(entity, what, endpoint);
    }
  };
}

type Result = readonly [what: string, result: unknown];

/** Results of a conversion as it was answered, and as it was monitored if it succeeded. */
async function conversionResults(session: Session): Promise<Result[]> {
  const [final] = await ifSeen(session.finished());
  const monitored = final?.at('result.output.result');
  const answered: Result = ['of convert/file', (await session.converted()).reply.at('result')];
  const isSuccess = final && valueAt(monitored, 'error.code') === undefined;
  return isSuccess ? [answered, ['of a monitored conversion', monitored]] : [answered];
}

const ensureStatus = (status: unknown, what: string) => ensureOneOf(status, ['hold', 'running', 'completed'], what);

function timestampRule(key: string, state: string): Record<string, Check> {
  return {
    [`${key} is the time the status became ${state}, as YYYY-MM-DD HH:MM:SS`]: ofEntities((entity, endpoint) =>
      ensureMatches(entity[key], datetime, `${key} of ${endpoint}`),
    ),
  };
}

export const responseRules = [
  ...inSection('Task response body', {
    async 'entity, payload and result are present when include asks for them, and only then'(session) {
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
    async 'A refused request is a task too: include counts for its answer, and the entity is that of a task to ask for'(
      session,
    ) {
      const connector = noId;
      const refused = [
        { connector, mode: 'later', parameters: { output: 'pdf' } },
        { connector, parameters: {} },
        { connector, parameters: { output: 'pdf' } },
      ];
      for (const data of refused) {
        const what = `the refusal of ${JSON.stringify(data)}`;
        const bare = await session.post(endpoints.convertFile, { ...data, include: ['entity', 'payload'] });
        ensureEqual(bare.at('entity.status'), 'completed', `the status of ${what}`);
        ensureItems(bare.json, ['entity', 'payload'], `what include ["entity","payload"] returns of ${what}`);
        ensureEqual(bare.at('payload.connector'), connector, `the connector in the payload of ${what}`);
        const monitored = await session.monitor(bare.text('entity.id') ?? '');
        const code = monitored.at('result.output.result.error.code');
        ensure(typeof code === 'string', `the monitored error of ${what} is ${show(code)}`);
      }
    },
    async 'payload is exactly what was sent in the field data'(session) {
      const connector = await session.uploaded();
      const asked = { connector, include: ['payload'], parameters: { include: ['entity'] } };
      const sent = { parameters: asked.parameters, app: session.own.appId, include: asked.include, connector };
      const { reply, sent: conversion } = await session.converted();
      for (const [answer, data] of [
        [await session.raw({ path: endpoints.taskResponse, body: createForm(JSON.stringify(sent)) }), sent],
        [reply, { app: session.own.appId, ...conversion }],
      ] as const) {
        ensureEqual(answer.at('payload'), data, 'payload');
        // The order of keys counts, too.
        ensureEqual(JSON.stringify(answer.at('payload')), JSON.stringify(data), 'the JSON of payload');
      }
    },
  }),
  ...inSection('Entity keys', {
    'id is a uuid': ofEntities(({ id }, endpoint) => ensureMatches(id, uuid, `id of ${endpoint}`)),
    async 'id is unique'(session) {
      const seen = new Set<unknown>();
      // Tasks that run once in a session have the same id the second time.
      const isNew = ([endpoint]: readonly [string, ...unknown[]]) =>
        [endpoints.uploadFile, endpoints.taskResponse].some((each) => each === endpoint);
      for (const [endpoint, entity] of [...(await entities(session)), ...(await entities(session)).filter(isNew)]) {
        const id = isObject(entity) ? entity['id'] : undefined;
        ensure(!seen.has(id), `${endpoint}: another task has the id ${show(id)} too`);
        seen.add(id);
      }
    },
    async 'id equals the connector that the task produces'(session) {
      const replies = [
        await session.upload({}, { include: ['entity', 'result'] }),
        (await session.converted()).reply,
        ...(await ifSeen(session.linked())),
      ];
      for (const reply of replies) {
        const connector = reply.at('result.output.connector');
        // Another rule checks that it is present.
        if (connector !== undefined) ensureEqual(reply.at('entity.id'), connector, 'entity.id');
      }
    },
    'type is task': ofEntities(({ type }, endpoint) => ensureEqual(type, 'task', `type of ${endpoint}`)),
    'endpoint is the path of the task with its version segment': ofEntities((entity, what, endpoint) =>
      ensureEqual(entity['endpoint'], endpoint, `endpoint of ${what}`),
    ),
    async 'status is hold, running or completed'(session) {
      await ofEntities(({ status }, endpoint) => ensureStatus(status, `status of ${endpoint}`))(session);
      const { accepted, early } = await session.started();
      ensureStatus(accepted.at('entity.status'), 'status of a conversion');
      ensureStatus(early.at('result.output.entity.status'), 'status of a conversion');
    },
    'vcredits is a whole number, 0 or more, where it is present': ofEntities(({ vcredits }, endpoint) =>
      ensure(vcredits === undefined || isCount(vcredits), `vcredits of ${endpoint} is ${show(vcredits)}`),
    ),
    async 'vcredits is absent or 0 while a task is not completed'(session) {
      const { accepted, early } = await session.seenRunning();
      for (const vcredits of [accepted.at('entity.vcredits'), early.at('result.output.entity.vcredits')]) {
        ensureEqual(vcredits ?? 0, 0, 'vcredits of a running task');
      }
    },
    async 'vcredits is present when a task consumes vCredits and completes successfully'(session) {
      const { reply } = await session.convert({ as: session.capability('pricedApp') });
      const vcredits = reply.at('entity.vcredits');
      const isConsumed = isCount(vcredits) && vcredits !== 0;
      ensure(isConsumed, `vcredits of a conversion is ${show(vcredits)}: ${reply.describe()}`);
    },
    async 'vcredits is absent or 0 when a task did not complete successfully'(session) {
      const { reply } = await session.failed();
      ensureEqual(reply.at('entity.vcredits') ?? 0, 0, 'vcredits of a failed conversion');
    },
    ...timestampRule('created_at', 'hold'),
    ...timestampRule('started_at', 'running'),
    ...timestampRule('completed_at', 'completed'),
  }),
  ...inSection('Result keys', {
    async 'output is an object'(session) {
      const others = [
        ...(await ifSeen(session.linked())),
        ...(await ifSeen(session.failed())).map(({ reply }) => reply),
        ...(await session.refusals()),
      ];
      const results = others.map((reply): Result => ['of another task', reply.at('result')]);
      for (const [what, result] of [...(await conversionResults(session)), ...results]) {
        const output = valueAt(result, 'output');
        ensure(isObject(output), `output ${what} is ${show(output)}`);
      }
    },
    async 'error is an empty object when there is no error'(session) {
      const replies = [(await session.converted()).reply, await session.monitor(await session.uploaded())];
      for (const reply of [...replies, ...(await ifSeen(session.linked()))]) {
        ensureEqual(reply.at('result.error'), {}, 'error');
      }
    },
    async 'error holds a code and a message when the task failed'(session) {
      for (const reply of [...(await session.refusals()), (await session.failed()).reply]) {
        ensureMatches(reply.at('result.error.code'), /^[A-Z][A-Z0-9_]*$/, 'error.code');
        ensureMatches(reply.at('result.error.message'), /\S/, 'error.message');
      }
    },
    async 'warning is an empty object when there are no warnings'(session) {
      for (const reply of [...(await ifSeen(session.linked())), await session.monitor(await session.uploaded())]) {
        ensureEqual(reply.at('result.warning'), {}, 'warning');
      }
      const refused = (await session.refusals()).map((reply): Result => ['of a refused request', reply.at('result')]);
      for (const [what, result] of [...(await conversionResults(session)), ...refused]) {
        const warning = valueAt(result, 'warning');
        ensure(isObject(warning), `warning ${what} is ${show(warning)}`);
      }
    },
    async 'warning has names for keys, and says how to resolve each'(session) {
      const { reply } = await session.convertedWithLoss();
      const warning = reply.at('result.warning');
      if (isDeepStrictEqual(warning, {})) throw new Undecided('no conversion with a warning is known for this service');
      ensure(isObject(warning), `warning is ${show(warning)}`);
      for (const [name, advice] of Object.entries(warning)) ensureMatches(advice, /\S/, `the warning ${name}`);
    },
  }),
  ...inSection('Output of convert-file', {
    async 'connector is a uuid, and the next task of the job takes it'(session) {
      const { reply } = await session.attempted();
      if (!isAccepted(reply)) throw new Undecided(`no conversion to look at: ${reply.describe()}`);
      const connector = reply.at('result.output.connector');
      ensureMatches(connector, uuid, 'output.connector');
      const { errorCode, status } = await session.post(endpoints.downloadUrl, { connector });
      if (errorCode === 'NOT_FOUND' || status >= 500) throw new Undecided('download/url is out of order');
      ensureEqual(errorCode, undefined, 'the error of download/url with it');
    },
    async 'status is successful after a conversion that was'(session) {
      for (const [what, result] of await conversionResults(session)) {
        ensureEqual(valueAt(result, 'output.status'), 'successful', `output.status ${what}`);
      }
    },
    async 'duration is a whole number, 0 or more'(session) {
      for (const [what, result] of await conversionResults(session)) {
        const duration = valueAt(result, 'output.duration');
        ensure(isCount(duration), `output.duration ${what} is ${show(duration)}`);
      }
    },
  }),
];
