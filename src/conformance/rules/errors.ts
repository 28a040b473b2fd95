import { errorCodes } from '../../api/error-codes';
import { inSection, type Rule } from '../rule';
import { ensure, ensureEqual, RuleBroken } from '../verdict';
import { type Provoked, provocations } from './provocations';

/** "Errors": every code that can be provoked from outside, and the HTTP status that it travels with. */

function codeRule({ code, provoke, needs, restatedIn }: Provoked): Omit<Rule, 'section'> {
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
