import { endpoints, isObject } from 'temporal-file-conversion/contract';
import { beyond, type Checks, inSection } from '../rule';
import type { Session } from '../session';
import { noId, sample } from '../target';
import {
  ensure,
  ensureAccepted,
  ensureEqual,
  ensureError,
  ensureMatches,
  ensureRefused,
  isAccepted,
  Undecided,
} from '../verdict';

/** "Endpoints", "Authentication" and "Versioning": how to reach a task, and who may. */

function authenticationError(code: string, authorization: string | undefined): Checks {
  return {
    [`${code} is answered with HTTP 403`]: async (session) => {
      // Valid except for its authorization, so that a service that ignores that has no other reason to refuse it.
      const right = (await session.validRequests()).find(({ path }) => path === endpoints.taskResponse);
      const reply = await session.raw({ path: endpoints.taskResponse, body: right?.body(), authorization });
      if (isAccepted(reply)) throw new Undecided('task/response takes it, which is a breach of Authentication');
      ensureError(reply, [code], `Authorization: ${authorization ?? '(none)'}`);
      ensureEqual(reply.status, 403, 'the HTTP status');
    },
  };
}

/** Requests are valid except for their authorization, or other refusals might hide a breach. Names the endpoints that take one. */
async function ensureAuthenticated(session: Session, authorization: string | undefined): Promise<void> {
  const open: string[] = [];
  for (const { path, body } of await session.validRequests()) {
    const reply = await session.raw({ path, body: body(), authorization });
    if (isAccepted(reply)) open.push(path);
  }
  ensureEqual(
    open,
    [],
    `what takes ${authorization === undefined ? 'no Authorization header' : `Authorization: ${authorization}`}`,
  );
}

export const endpointRules = [
  ...inSection('Endpoints', {
    async 'A request with any other method fails with POST_METHOD_ALLOWED'(session) {
      const some: string[] = [endpoints.convertFile, endpoints.taskResponse, endpoints.uploadFile];
      const all = new Set([...some, ...(await session.validRequests()).map(({ path }) => path)]);
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        for (const path of method === 'GET' ? all : some) {
          const { errorCode } = await session.raw({ method, path });
          ensureEqual(errorCode, 'POST_METHOD_ALLOWED', `the error of ${method} ${path}`);
        }
      }
      // The answer to HEAD has no body.
      ensureEqual(
        (await session.raw({ method: 'HEAD', path: endpoints.convertFile })).status,
        405,
        'the HTTP status of HEAD',
      );
    },
    async 'An unknown path fails with NOT_FOUND'(session) {
      for (const path of ['v1/convert/nothing', 'v1/convert', 'v1', 'v1/convert/file/more']) {
        ensureEqual((await session.raw({ path })).errorCode, 'NOT_FOUND', `the error of ${path}`);
      }
    },
    async 'Responses are JSON objects in the shape of the task response body'(session) {
      const replies = [
        ...(await session.validRequests()).filter(({ path }) => path !== endpoints.downloadUrlGet),
        { path: 'an empty body', reply: await session.raw({ path: endpoints.taskResponse, body: '' }) },
        { path: 'an unknown path', reply: await session.raw({ path: 'v1/unknown' }) },
        { path: 'another method', reply: await session.raw({ method: 'GET', path: endpoints.taskResponse }) },
      ];
      for (const { path, reply } of replies) {
        const isShaped = isObject(reply.json) && isObject(reply.json['result']);
        ensure(isShaped, `the answer to ${path} is ${reply.describe()}`);
        ensureMatches(reply.header('content-type'), /^application\/json\b/i, `the content type of ${path}`);
      }
    },
    async 'A request that cannot be read as HTTP is answered in that shape too'(session) {
      for (const [what, reply] of await session.unreadable()) {
        ensure(isObject(reply.json) && isObject(reply.json['result']), `${what}: ${reply.describe()}`);
        ensureMatches(reply.at('result.error.code'), /^[A-Z][A-Z0-9_]*$/, `${what}: error.code`);
        for (const header of ['X-RATELIMIT-LIMIT', 'X-RATELIMIT-REMAINING', 'X-RATELIMIT-RESET'])
          ensureMatches(reply.header(header), /^\d+$/, `${what}: ${header}`);
      }
    },
  }),
  ...inSection('Authentication', {
    async 'A request without an Authorization header is refused, on every endpoint'(session) {
      await ensureAuthenticated(session, undefined);
    },
    async 'A header other than Bearer with the app token is refused'(session) {
      for (const authorization of ['Bearer wrong-token', 'Basic YTpi', 'Bearer']) {
        await ensureAuthenticated(session, authorization);
      }
    },
    async 'The data key app must name the app that the token belongs to'(session) {
      const data = { app: noId, connector: await session.uploaded() };
      ensureRefused(await session.post(endpoints.taskResponse, data), 'the App ID of nobody');
    },
    async 'In development, a file that is not registered is refused with ONLY_DEVELOPMENT_REQUEST (403) when it is uploaded'(
      session,
    ) {
      const as = session.capability('developmentApp');
      ensureAccepted(await session.upload({ as }), 'an upload of a registered file');
      const file = { name: 'unregistered.png', bytes: Buffer.concat([sample.bytes, Buffer.from('more')]) };
      const reply = await session.upload({ as, file });
      ensureError(reply, ['ONLY_DEVELOPMENT_REQUEST'], 'an upload of a file that is not registered');
      ensureEqual(reply.status, 403, 'the HTTP status');
    },
    async 'The App ID of another app is refused'(session) {
      const data = { app: session.capability('secondApp').appId, connector: await session.uploaded() };
      ensureRefused(await session.post(endpoints.taskResponse, data), 'the App ID of another app');
    },
    async 'The tasks of another app are not there: their connectors belong to no task'(session) {
      const other = session.capability('secondApp');
      const { uploaded, converted, link } = await session.connectors();
      const requests: [string, unknown][] = [
        [endpoints.taskResponse, uploaded],
        [endpoints.convertFile, uploaded],
        [endpoints.downloadUrl, converted],
        [endpoints.downloadUrlGet, link],
      ];
      for (const [path, theirs] of requests) {
        if (theirs === undefined) continue;
        const parameters = path === endpoints.convertFile ? { output: 'webp' } : undefined;
        const reply = await session.post(path, { connector: theirs, parameters }, { as: other });
        ensureEqual(reply.errorCode, 'NO_CONNECTOR_DEPENDENT_TASK', `the error of ${path}`);
      }
    },
  }),
  ...inSection('Versioning', {
    async 'The API version is the first path segment, v1; with another there is no endpoint'(session) {
      for (const path of ['v0/task/response', 'V1/task/response', 'api/v1/task/response']) {
        const reply = await session.raw({ path });
        ensureEqual(reply.errorCode, 'NOT_FOUND', `the error of ${path}`);
      }
    },
  }),
  ...beyond('Beyond: requests', 'page: version', {
    async 'A path without a version means the latest one'(session) {
      const reply = await session.post(endpoints.taskResponse.replace(/^v1\//, ''), {
        connector: await session.uploaded(),
        include: ['entity', 'result'],
      });
      // If v1 is not the latest version any more, the task is of another one.
      if (reply.errorCode === 'MISMATCH_VERSION_DEPENDENT_TASK') return;
      ensureAccepted(reply, 'task/response without a version');
      ensureMatches(reply.at('entity.endpoint'), /^v\d+\/task\/response$/, 'endpoint');
    },
  }),
  ...beyond('Beyond: authentication', 'page: error', {
    ...authenticationError('MISSING_AUTHORIZATION_HEADER', undefined),
    ...authenticationError('INVALID_AUTHORIZATION_HEADER', 'Basic YTpi'),
    ...authenticationError('INVALID_CREDENTIAL', 'Bearer no-token-of-anybody'),
    async 'DISABLED_FOR_FREE_APP is answered with HTTP 403 where the free app may not go'(session) {
      const app = session.capability('freeApp');
      const reply = await session.post(app.disabledEndpoint, {}, { as: app });
      ensureError(reply, ['DISABLED_FOR_FREE_APP'], app.disabledEndpoint);
      ensureEqual(reply.status, 403, 'the HTTP status');
    },
    async 'FREE_APP_LIMITED is answered with HTTP 429 when the daily limit of the free app is reached'(session) {
      const app = session.capability('freeApp');
      for (let done = 0; done <= app.dailyConversions; done += 1) {
        const { reply } = await session.convert({ as: app, unpaced: true });
        if (reply.errorCode === undefined) continue;
        ensureError(reply, ['FREE_APP_LIMITED'], 'one conversion too many');
        ensureEqual(reply.status, 429, 'the HTTP status');
        return;
      }
      ensure(false, `${app.dailyConversions + 1} conversions of the free app were all accepted`);
    },
  }),
];
