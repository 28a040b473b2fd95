import { endpoints } from 'temporal-file-conversion/contract';
import { Reply, valueAt } from '../reply';
import { beyond, inSection, type Rule } from '../rule';
import type { Session } from '../session';
import { sampleOutput } from '../target';
import { ensure, ensureAccepted, ensureEqual, ensureError } from '../verdict';

/** "Events": the one notification of the service. */

async function calledBack(session: Session): Promise<{ method: string; body: Reply; connector: string | undefined }> {
  const callback = session.capability('callback');
  const url = callback.createUrl();
  const data = {
    connector: await session.uploaded(),
    include: ['entity', 'result'],
    mode: 'async',
    callback: url,
    parameters: { output: sampleOutput },
  };
  const accepted = await session.post(endpoints.convertFile, data);
  ensureAccepted(accepted, 'a conversion with a callback');
  const { method, body } = await callback.received(url);
  return { method, body: new Reply(200, {}, Buffer.from(body)), connector: accepted.text('entity', 'id') };
}

interface Extra {
  readonly callback: string;
  readonly include: readonly string[];
}

/** A task of each kind that is completed with its own request. */
const callers: readonly { endpoint: string; ask: (session: Session, extra: Extra) => Promise<Reply> }[] = [
  { endpoint: endpoints.uploadFile, ask: (session, extra) => session.upload({}, { ...extra }) },
  {
    endpoint: endpoints.taskResponse,
    ask: async (session, extra) => session.monitor(await session.uploaded(), { ...extra }),
  },
  {
    endpoint: endpoints.downloadUrl,
    ask: async (session, extra) =>
      session.post(endpoints.downloadUrl, { ...extra, connector: (await session.converted()).connector }),
  },
  {
    endpoint: endpoints.downloadUrlGet,
    ask: async (session, extra) =>
      session.post(endpoints.downloadUrlGet, {
        ...extra,
        connector: (await session.linked()).text('result', 'output', 'connector'),
      }),
  },
  {
    endpoint: endpoints.convertFile,
    ask: async (session, extra) =>
      session.post(endpoints.convertFile, { ...extra, connector: await session.uploaded(), parameters: {} }),
  },
];

export const eventRules: Rule[] = inSection('Events', [
  {
    rule: 'When a task with the data key callback completes, the service sends its response to that URL by POST',
    restatedIn: ['Data keys'],
    needs: 'callback',
    async check(session) {
      ensureEqual((await calledBack(session)).method, 'POST', 'the method of the callback');
    },
  },
  {
    rule: 'So it does for tasks of every kind, and for those that are refused',
    restatedIn: ['Data keys'],
    needs: 'callback',
    async check(session) {
      const receiver = session.capability('callback');
      for (const { endpoint, ask } of callers) {
        const url = receiver.createUrl();
        await ask(session, { callback: url, include: ['entity'] });
        const { body } = await receiver.received(url);
        const called = new Reply(200, {}, Buffer.from(body));
        ensure(called.at('entity', 'endpoint') === endpoint, `the callback of ${endpoint} holds ${body.slice(0, 100)}`);
      }
    },
  },
]);

export const beyondCallbackRules: Rule[] = beyond('Beyond: callbacks', 'client: JavaScript', [
  {
    rule: 'The body of the callback is the final response',
    source: 'page: structure',
    needs: 'callback',
    async check(session) {
      const { body, connector } = await calledBack(session);
      ensureEqual(body.at('entity', 'status'), 'completed', 'entity.status in the callback');
      ensureEqual(valueAt(body.json, ['result', 'output', 'connector']), connector, 'the connector in the callback');
    },
  },
  {
    rule: 'A callback that is no URL is refused with INVALID_CALLBACK',
    async check(session) {
      const data = { connector: await session.uploaded(), parameters: { output: sampleOutput } };
      for (const callback of ['not a url', 'ftp://example.com/']) {
        const reply = await session.post(endpoints.convertFile, { ...data, callback });
        ensureError(reply, ['INVALID_CALLBACK'], `the callback ${callback}`);
      }
    },
  },
  {
    rule: 'A callback of another domain is refused with UNVERIFIED_DOMAIN_CALLBACK',
    needs: 'unverifiedCallback',
    async check(session) {
      const { url } = session.capability('unverifiedCallback');
      const data = { connector: await session.uploaded(), callback: url, parameters: { output: sampleOutput } };
      const reply = await session.post(endpoints.convertFile, data);
      ensureError(reply, ['UNVERIFIED_DOMAIN_CALLBACK'], 'a callback of a domain that is not verified');
    },
  },
]);
