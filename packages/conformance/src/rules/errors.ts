import { setTimeout as sleep } from 'node:timers/promises';
import { endpoints, errorCodes, type KnownErrorCode } from 'temporal-file-conversion/contract';
import { createForm } from '../http';
import type { Reply } from '../reply';
import { beyond, type Checks, inSection } from '../rule';
import { bearer, type Session } from '../session';
import { type Credentials, noId, sampleOutput } from '../target';
import { ensure, ensureEqual, ensureMatches, RuleBroken } from '../verdict';

/** "Errors": every code that can be provoked from outside, and its HTTP status. */

type Provocation = (session: Session) => Promise<Reply>;

interface Provoked {
  readonly code: KnownErrorCode;
  /** The name that replaces [NAME] in the message. */
  readonly names?: string;
  readonly provoke: readonly Provocation[];
}

/** One of these requests must be answered with the code; the document leaves open which mistake gets which. */
function provoked(code: KnownErrorCode, more: Pick<Provoked, 'names'>, ...provoke: readonly Provocation[]): Provoked {
  return { code, ...more, provoke };
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

function convertAs(session: Session, as: Credentials, connector: string): Promise<Reply> {
  return session.post(endpoints.convertFile, { connector, ...convert }, { as });
}

const provocations: readonly Provoked[] = [
  provoked('INVALID_DATA_KEY', {}, converting({ unknown_key: 1 }), converting({ app: 'mine' }), async (session) =>
    session.upload({}, { connector: await session.uploaded() }),
  ),
  provoked('INVALID_FIELD', {}, form('{"app": '), async (session) =>
    form(await session.validData(), ['unknown_field', '1'])(session),
  ),
  provoked(
    'INVALID_PARAMETER',
    {},
    converting({ parameters: { output: sampleOutput, unknown_parameter: 1 } }),
    converting({ parameters: { output: '' } }),
  ),
  provoked('MISMATCH_DEPENDENT_TASK', {}, async (session) =>
    session.post(endpoints.downloadUrl, { connector: await session.uploaded() }),
  ),
  provoked('MISMATCH_VERSION_DEPENDENT_TASK', {}, async (session) => {
    const { segment } = session.capability('otherVersion');
    const path = endpoints.convertFile.replace(/^v1/, segment);
    return session.post(path, { connector: await session.uploaded(), ...convert });
  }),
  provoked('MISSING_REQUIRED_DATA_KEY', { names: 'app' }, converting({ app: undefined })),
  provoked('MISSING_REQUIRED_FIELD', { names: 'data' }, form(undefined, ['other', '1']), (session) =>
    session.raw({ path: endpoints.taskResponse, body: new URLSearchParams({}) }),
  ),
  provoked('MISSING_REQUIRED_PARAMETER', { names: 'output' }, converting({ parameters: {} })),
  provoked('WRONG_TYPE_DATA_KEY', { names: 'include' }, converting({ include: 'result' })),
  provoked('WRONG_TYPE_FIELD', { names: 'data' }, form('[]'), form('"text"'), form('7')),
  provoked('WRONG_TYPE_PARAMETER', { names: 'output' }, converting({ parameters: { output: 7 } })),
  provoked('WRONG_VALUE_DATA_KEY', { names: 'mode' }, converting({ mode: 'later' })),
  provoked('WRONG_VALUE_PARAMETER', { names: 'include' }, async (session) =>
    session.monitor(await session.uploaded(), { parameters: { include: ['everything'] } }),
  ),
  provoked('FREE_PLAN_DISALLOWED', {}, async (session) => session.upload({ as: session.capability('freePlanApp') })),
  provoked('INSUFFICIENT_VCREDITS', {}, async (session) => {
    const { reply } = await session.convert({ as: session.capability('noCreditsApp') });
    return reply;
  }),
  provoked('ONLY_DEVELOPMENT_REQUEST', {}, async (session) => {
    const app = session.capability('developmentApp');
    const connector = await session.uploadedConnector({ as: app });
    await app.withdraw();
    try {
      return await convertAs(session, app, connector);
    } finally {
      await app.restore();
    }
  }),
  provoked('DOWNLOAD_EXPIRED', {}, async (session) => {
    const app = session.capability('shortDownloadsApp');
    const { connector } = await session.convert({ as: app });
    await sleep(app.seconds * 1_000 + 500);
    return session.post(endpoints.downloadUrl, { connector }, { as: app });
  }),
  provoked('FILE_NOT_EXISTS', {}, async (session) => {
    const app = session.capability('shortUploadsApp');
    const connector = await session.uploadedConnector({ as: app });
    await sleep(app.seconds * 1_000 + 500);
    return convertAs(session, app, connector);
  }),
  provoked('NOT_FOUND', {}, (session) => session.raw({ path: 'v1/convert/nothing' })),
  provoked('NOT_READY_DEPENDENT_TASK', {}, async (session) =>
    session.post(endpoints.downloadUrl, { connector: (await session.failed()).connector }),
  ),
  provoked('NO_CONNECTOR_DEPENDENT_TASK', {}, (session) => session.monitor(noId)),
  provoked('POST_METHOD_ALLOWED', {}, (session) => session.raw({ method: 'GET', path: endpoints.convertFile })),
  provoked('TOO_MANY_REQUESTS', {}, exceedLimit),
  provoked('INTERNAL_SERVER_ERROR', {}, async (session) => {
    const failure = session.capability('serverFailure');
    await failure.provoke();
    try {
      return await session.upload();
    } finally {
      await failure.restore();
    }
  }),
];

/** Sends more `task/response` requests than the limited app may, and returns the answer that says so. */
export async function exceedLimit(session: Session): Promise<Reply> {
  const app = session.capability('rateLimitedApp');
  const body = createForm(JSON.stringify({ app: app.appId, connector: noId }));
  const send = () => session.raw({ path: endpoints.taskResponse, authorization: bearer(app), body, unpaced: true });
  // All at once, because a window may be shorter than sequential requests take; twice, because a window may end in between.
  for (let round = 0; round < 2; round += 1) {
    const replies = await Promise.all(Array.from({ length: app.requests + 1 }, send));
    const refused = replies.find(({ status, errorCode }) => status === 429 || errorCode === 'TOO_MANY_REQUESTS');
    if (refused) return refused;
  }
  throw new RuleBroken(`twice ${app.requests + 1} requests at once were all let through`);
}

function codeRule({ code, provoke }: Provoked): Checks {
  const { httpStatus } = errorCodes[code];
  return {
    [`${code} is answered with HTTP ${httpStatus}`]: async (session) => {
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

export const errorRules = [
  ...provocations.flatMap((each) => inSection('Errors', codeRule(each))),
  ...inSection('Errors', {
    async 'Success is HTTP 200'(session) {
      for (const { path, reply } of await session.validRequests()) {
        ensureEqual(reply.status, 200, `the HTTP status of a success of ${path}`);
      }
    },
    async 'In messages, [NAME] is replaced by the name of the offending key, field or parameter'(session) {
      for (const { names, provoke } of provocations) {
        const [provocation] = provoke;
        if (names === undefined || !provocation) continue;
        const message = (await provocation(session)).errorMessage ?? '';
        ensure(message.includes(names) && !message.includes('[NAME]'), `a message does not name ${names}: ${message}`);
      }
    },
  }),
  ...beyond('Beyond: requests', 'client: Python 1.x', {
    async 'A refusal at 4xx has its code and message at the top level too'(session) {
      const replies = [
        await session.post(endpoints.convertFile, { connector: noId, ...convert }),
        await session.post(endpoints.taskResponse, {}),
        await session.raw({ path: endpoints.taskResponse, authorization: undefined }),
        await session.raw({ path: 'v1/unknown' }),
        await session.raw({ method: 'GET', path: endpoints.taskResponse }),
      ];
      for (const reply of replies) {
        const code = reply.at('result.error.code');
        ensureEqual(reply.at('code'), code, `the top level's code beside ${String(code)} (HTTP ${reply.status})`);
        ensureMatches(reply.at('message'), /\S/, `the top level's message beside ${String(code)}`);
      }
    },
  }),
];
