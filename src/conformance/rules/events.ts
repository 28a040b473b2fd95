import { endpoints } from '../../api/contract';
import { Reply, valueAt } from '../reply';
import { inSection, type Rule } from '../rule';
import { sampleOutput } from '../samples';
import type { Session } from '../session';
import { ensureAccepted, ensureEqual, ensureError } from '../verdict';

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

export const eventRules: Rule[] = inSection('Events', [
  {
    rule: 'When a task with the data key callback completes, the service sends its response to that URL by POST',
    restatedIn: ['Data keys'],
    needs: 'callback',
    async check(session) {
      ensureEqual((await calledBack(session)).method, 'POST', 'the method of the callback');
    },
  },
]);

export const beyondCallbackRules: Rule[] = inSection('Beyond: callbacks', [
  {
    rule: 'The body of the callback is the final response',
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
