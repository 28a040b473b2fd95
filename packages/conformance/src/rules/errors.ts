import { setTimeout as sleep } from 'node:timers/promises';
import { endpoints, errorCodes, type KnownErrorCode } from 'temporal-file-conversion/contract';
import { createForm } from '../http';
import type { Reply } from '../reply';
import { type About, beyond, inSection, rule, type SectionRule } from '../rule';
import { bearer, type Session } from '../session';
import { sampleOutput } from '../target';
import { ensure, ensureEqual, ensureMatches, RuleBroken } from '../verdict';

/** How each code of section "Errors" is provoked from outside. */

/** Requests of which at least one is answered with the code; the document leaves open which mistake gets which. */
type Provocation = (session: Session) => Promise<Reply>;

interface Provoked {
  readonly code: KnownErrorCode;
  readonly about?: About;
  readonly provoke: readonly Provocation[];
  /** The name that stands in the message in place of [NAME]. */
  readonly names?: string;
}

const convert = { parameters: { output: sampleOutput } };

function converting(change: Record<string, unknown>): Provocation {
  return (session) => session.submit(change);
}

function form(data: string | undefined, extra?: [string, string]): Provocation {
  return (session) => {
    const body = createForm(data);
    if (extra) body.set(...extra);
    return session.raw({ path: endpoints.taskResponse, body });
  };
}

const provocations: readonly Provoked[] = [
  {
    code: 'INVALID_DATA_KEY',
    provoke: [
      converting({ unknown_key: 1 }),
      converting({ app: 'mine' }),
      async (session) => session.upload({}, { connector: await session.uploaded() }),
    ],
  },
  {
    code: 'INVALID_FIELD',
    provoke: [form('{"app": '), async (session) => form(await validData(session), ['unknown_field', '1'])(session)],
  },
  {
    code: 'INVALID_PARAMETER',
    provoke: [
      converting({ parameters: { output: sampleOutput, unknown_parameter: 1 } }),
      converting({ parameters: { output: '' } }),
    ],
  },
  {
    code: 'MISMATCH_DEPENDENT_TASK',
    provoke: [async (session) => session.post(endpoints.downloadUrl, { connector: await session.uploaded() })],
  },
  {
    code: 'MISMATCH_VERSION_DEPENDENT_TASK',
    about: { needs: 'otherVersion', restatedIn: ['Versioning'] },
    provoke: [
      async (session) => {
        const { segment } = session.capability('otherVersion');
        const path = endpoints.convertFile.replace(/^v1/, segment);
        return session.post(path, { connector: await session.uploaded(), ...convert });
      },
    ],
  },
  { code: 'MISSING_REQUIRED_DATA_KEY', names: 'app', provoke: [converting({ app: undefined })] },
  {
    code: 'MISSING_REQUIRED_FIELD',
    names: 'data',
    provoke: [
      form(undefined, ['other', '1']),
      (session) => session.raw({ path: endpoints.taskResponse, body: new URLSearchParams({}) }),
    ],
  },
  { code: 'MISSING_REQUIRED_PARAMETER', names: 'output', provoke: [converting({ parameters: {} })] },
  { code: 'WRONG_TYPE_DATA_KEY', names: 'include', provoke: [converting({ include: 'result' })] },
  { code: 'WRONG_TYPE_FIELD', names: 'data', provoke: [form('[]'), form('"text"'), form('7')] },
  { code: 'WRONG_TYPE_PARAMETER', names: 'output', provoke: [converting({ parameters: { output: 7 } })] },
  { code: 'WRONG_VALUE_DATA_KEY', names: 'mode', provoke: [converting({ mode: 'later' })] },
  {
    code: 'WRONG_VALUE_PARAMETER',
    names: 'include',
    provoke: [
      async (session) => session.monitor(await session.uploaded(), { parameters: { include: ['everything'] } }),
    ],
  },
  {
    code: 'FREE_PLAN_DISALLOWED',
    about: { needs: 'freePlanApp', restatedIn: ['Authentication'] },
    provoke: [(session) => session.upload({ as: session.capability('freePlanApp') })],
  },
  {
    code: 'INSUFFICIENT_VCREDITS',
    about: { needs: 'noCreditsApp', restatedIn: ['Limits'] },
    provoke: [async (session) => (await session.convert({ as: session.capability('noCreditsApp') })).reply],
  },
  {
    code: 'ONLY_DEVELOPMENT_REQUEST',
    about: { needs: 'developmentApp', restatedIn: ['Authentication'] },
    provoke: [
      async (session) => {
        const app = session.capability('developmentApp');
        const connector = await session.uploadedConnector({ as: app });
        await app.withdraw();
        try {
          return await session.post(endpoints.convertFile, { connector, ...convert }, { as: app });
        } finally {
          await app.restore();
        }
      },
    ],
  },
  {
    code: 'DOWNLOAD_EXPIRED',
    about: { needs: 'shortDownloadsApp' },
    provoke: [
      async (session) => {
        const app = session.capability('shortDownloadsApp');
        const { connector } = await session.convert({ as: app });
        await sleep(app.seconds * 1_000 + 500);
        return session.post(endpoints.downloadUrl, { connector }, { as: app });
      },
    ],
  },
  {
    code: 'FILE_NOT_EXISTS',
    about: { needs: 'shortUploadsApp' },
    provoke: [
      async (session) => {
        const app = session.capability('shortUploadsApp');
        const connector = await session.uploadedConnector({ as: app });
        await sleep(app.seconds * 1_000 + 500);
        return session.post(endpoints.convertFile, { connector, ...convert }, { as: app });
      },
    ],
  },
  {
    code: 'NOT_FOUND',
    about: { restatedIn: ['Endpoints'] },
    provoke: [(session) => session.raw({ path: 'v1/convert/nothing' })],
  },
  {
    code: 'NOT_READY_DEPENDENT_TASK',
    provoke: [
      async (session) => session.post(endpoints.downloadUrl, { connector: (await session.failed()).connector }),
    ],
  },
  {
    code: 'NO_CONNECTOR_DEPENDENT_TASK',
    provoke: [(session) => session.monitor('00000000-0000-4000-8000-000000000000')],
  },
  {
    code: 'POST_METHOD_ALLOWED',
    about: { restatedIn: ['Endpoints'] },
    provoke: [(session) => session.raw({ method: 'GET', path: endpoints.convertFile })],
  },
  {
    code: 'TOO_MANY_REQUESTS',
    about: { needs: 'rateLimitedApp', restatedIn: ['Limits'] },
    provoke: [exceedLimit],
  },
  {
    code: 'INTERNAL_SERVER_ERROR',
    about: { needs: 'serverFailure' },
    provoke: [
      async (session) => {
        const failure = session.capability('serverFailure');
        await failure.provoke();
        try {
          return await session.upload();
        } finally {
          await failure.restore();
        }
      },
    ],
  },
];

async function validData(session: Session): Promise<string> {
  return JSON.stringify({ app: session.own.appId, connector: await session.uploaded() });
}

/** Sends more `task/response` requests than the limited app may, and returns the answer that says so. */
export async function exceedLimit(session: Session): Promise<Reply> {
  const app = session.capability('rateLimitedApp');
  const body = createForm(JSON.stringify({ app: app.appId, connector: '00000000-0000-4000-8000-000000000000' }));
  for (let sent = 0; sent <= app.requests * 2; sent += 1) {
    const reply = await session.raw({ path: endpoints.taskResponse, authorization: bearer(app), body, unpaced: true });
    if (reply.status === 429 || reply.errorCode === 'TOO_MANY_REQUESTS') return reply;
  }
  throw new RuleBroken(`${app.requests * 2 + 1} requests in a row were all let through`);
}

/** "Errors": every code that can be provoked from outside, and the HTTP status that it travels with. */

function codeRule({ code, about = {}, provoke }: Provoked): SectionRule {
  const { httpStatus } = errorCodes[code];
  return rule(`${code} is answered with HTTP ${httpStatus}`, about, async (session) => {
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
  });
}

const documentRules = inSection('Errors', [
  ...provocations.map(codeRule),
  rule('Success is HTTP 200', async (session) => {
    const replies = [await session.upload(), (await session.converted()).reply, await session.linked()];
    for (const reply of replies) ensureEqual(reply.status, 200, 'the HTTP status of a success');
  }),
  rule('In messages, [NAME] is replaced by the name of the offending key, field or parameter', async (session) => {
    for (const { names, provoke } of provocations) {
      const [provocation] = provoke;
      if (names === undefined || !provocation) continue;
      const message = (await provocation(session)).errorMessage ?? '';
      ensure(message.includes(names) && !message.includes('[NAME]'), `a message does not name ${names}: ${message}`);
    }
  }),
]);

const beyondRules = beyond('Beyond: requests', 'client: Python 1.x', [
  rule('A refusal at 4xx has its code and message at the top level too', async (session) => {
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
  }),
]);

export const errorRules = [...documentRules, ...beyondRules];
