import { endpoints, errorCodes } from 'temporal-file-conversion/contract';
import { beyond, inSection, type Rule, type SectionRule } from '../rule';
import { sampleOutput } from '../samples';
import { ensure, ensureEqual, ensureMatches, RuleBroken } from '../verdict';
import { type Provoked, provocations } from './provocations';

/** "Errors": every code that can be provoked from outside, and the HTTP status that it travels with. */

function codeRule({ code, provoke, needs, restatedIn }: Provoked): SectionRule {
  const { httpStatus } = errorCodes[code];
  return {
    rule: `${code} is answered with HTTP ${httpStatus}`,
    ...(needs && { needs }),
    ...(restatedIn && { restatedIn }),
    async check(session) {
      const others: string[] = [];
      for (const provocation of provoke) {
        const reply = await provocation(session);
        if (reply.errorCode === code) {
          ensureEqual(reply.status, httpStatus, `the HTTP status of ${code}`);
          return;
        }
        others.push(reply.errorCode ?? reply.describe());
      }
      throw new RuleBroken(`no request was answered with ${code}, but with ${others.join(', ')}`);
    },
  };
}

export const errorRules: Rule[] = inSection('Errors', [
  ...provocations.map(codeRule),
  {
    rule: 'Success is HTTP 200',
    async check(session) {
      const replies = [await session.upload(), (await session.converted()).reply, await session.linked()];
      for (const reply of replies) ensureEqual(reply.status, 200, 'the HTTP status of a success');
    },
  },
  {
    rule: 'In messages, [NAME] is replaced by the name of the offending key, field or parameter',
    async check(session) {
      for (const { names, provoke } of provocations) {
        const [provocation] = provoke;
        if (names === undefined || !provocation) continue;
        const message = (await provocation(session)).errorMessage ?? '';
        ensure(message.includes(names) && !message.includes('[NAME]'), `a message does not name ${names}: ${message}`);
      }
    },
  },
]);

export const beyondErrorRules: Rule[] = beyond('Beyond: requests', 'client: Python 1.x', [
  {
    rule: 'A refusal at 4xx has its code and message at the top level too',
    async check(session) {
      const connector = '00000000-0000-4000-8000-000000000000';
      const replies = [
        await session.post(endpoints.convertFile, { connector, parameters: { output: sampleOutput } }),
        await session.post(endpoints.taskResponse, {}),
        await session.raw({ path: endpoints.taskResponse, authorization: undefined }),
        await session.raw({ path: 'v1/unknown' }),
        await session.raw({ method: 'GET', path: endpoints.taskResponse }),
      ];
      for (const reply of replies) {
        const code = reply.at('result', 'error', 'code');
        ensureEqual(reply.at('code'), code, `the top level's code beside ${String(code)} (HTTP ${reply.status})`);
        ensureMatches(reply.at('message'), /\S/, `the top level's message beside ${String(code)}`);
      }
    },
  },
]);
