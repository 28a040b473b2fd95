import { endpoints } from 'temporal-file-conversion/contract';
import { Reply } from '../reply';
import { beyond, from, inSection } from '../rule';
import type { Session } from '../session';
import { ensure, ensureAccepted, ensureEqual, ensureError } from '../verdict';

/** "Events": the one notification of the service. */

async function calledBack(session: Session): Promise<{ method: string; body: Reply; connector: string | undefined }> {
  const callback = session.capability('callback');
  const url = callback.createUrl();
  const accepted = await session.submit({ include: ['entity', 'result'], mode: 'async', callback: url });
  ensureAccepted(accepted, 'a conversion with a callback');
  const { method, body } = await callback.received(url);
  return { method, body: new Reply(200, {}, Buffer.from(body)), connector: accepted.text('entity.id') };
}

/** A task of each kind that is completed with its own request, and the connector that it takes. */
const callers: readonly { endpoint: string; connector?: (session: Session) => Promise<string | undefined> }[] = [
  { endpoint: endpoints.uploadFile },
  { endpoint: endpoints.taskResponse, connector: (session) => session.uploaded() },
  { endpoint: endpoints.downloadUrl, connector: async (session) => (await session.converted()).connector },
  {
    endpoint: endpoints.downloadUrlGet,
    connector: async (session) => (await session.linked()).text('result.output.connector'),
  },
  // Refused, because it lacks its parameters.
  { endpoint: endpoints.convertFile, connector: (session) => session.uploaded() },
];

export const eventRules = [
  ...inSection('Events', {
    async 'When a task with the data key callback completes, the service sends its response to that URL by POST'(
      session,
    ) {
      ensureEqual((await calledBack(session)).method, 'POST', 'the method of the callback');
    },
    async 'So it does for tasks of every kind, and for those that are refused'(session) {
      const receiver = session.capability('callback');
      for (const { endpoint, connector } of callers) {
        const url = receiver.createUrl();
        const data = { callback: url, include: ['entity'] };
        if (connector) await session.post(endpoint, { ...data, connector: await connector(session) });
        else await session.upload({}, data);
        const { body } = await receiver.received(url);
        const called = new Reply(200, {}, Buffer.from(body));
        ensure(called.at('entity.endpoint') === endpoint, `the callback of ${endpoint} holds ${body.slice(0, 100)}`);
      }
    },
  }),
  ...beyond('Beyond: callbacks', 'client: JavaScript', {
    ...from('page: structure', {
      async 'The body of the callback is the final response'(session) {
        const { body, connector } = await calledBack(session);
        ensureEqual(body.at('entity.status'), 'completed', 'entity.status in the callback');
        ensureEqual(body.at('result.output.connector'), connector, 'the connector in the callback');
      },
    }),
    async 'A callback that is no URL is refused with INVALID_CALLBACK'(session) {
      for (const callback of ['not a url', 'ftp://example.com/']) {
        ensureError(await session.submit({ callback }), ['INVALID_CALLBACK'], `the callback ${callback}`);
      }
    },
    async 'A callback of another domain is refused with UNVERIFIED_DOMAIN_CALLBACK'(session) {
      const { url } = session.capability('unverifiedCallback');
      const reply = await session.submit({ callback: url });
      ensureError(reply, ['UNVERIFIED_DOMAIN_CALLBACK'], 'a callback of a domain that is not verified');
    },
  }),
];
