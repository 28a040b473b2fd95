import { endpoints } from 'temporal-file-conversion/contract';
import { isObject } from '../reply';
import { beyond, type SectionRule, inSection, rule } from '../rule';
import { sample } from '../target';
import { ensure, ensureAccepted, ensureEqual, ensureError, ensureMatches, ensureRefused } from '../verdict';

/** "Endpoints", "Authentication" and "Versioning": how to reach a task, and who may. */

const pathRules = inSection('Endpoints', [
  rule('A request with any other method fails with POST_METHOD_ALLOWED', async (session) => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
      for (const path of [endpoints.convertFile, endpoints.taskResponse, endpoints.uploadFile]) {
        const { errorCode } = await session.raw({ method, path });
        ensureEqual(errorCode, 'POST_METHOD_ALLOWED', `the error of ${method} ${path}`);
      }
    }
  }),
  rule('An unknown path fails with NOT_FOUND', async (session) => {
    for (const path of ['v1/convert/nothing', 'v1/convert', 'v1', 'v1/convert/file/more']) {
      ensureEqual((await session.raw({ path })).errorCode, 'NOT_FOUND', `the error of ${path}`);
    }
  }),
  rule('Responses are JSON objects in the shape of the task response body', async (session) => {
    const replies = [
      await session.monitor(await session.uploaded()),
      await session.linked(),
      await session.raw({ path: endpoints.taskResponse, body: '' }),
      await session.raw({ path: 'v1/unknown' }),
    ];
    for (const reply of replies) {
      ensure(isObject(reply.json) && isObject(reply.json['result']), `an answer is ${reply.describe()}`);
      ensureMatches(reply.header('content-type'), /^application\/json\b/i, 'the content type');
    }
  }),
  rule(
    'A request that cannot be read as HTTP is answered in that shape too',
    { restatedIn: ['Errors'] },
    async (session) => {
      for (const [what, reply] of await session.unreadable()) {
        ensure(isObject(reply.json) && isObject(reply.json['result']), `${what}: ${reply.describe()}`);
        ensureMatches(reply.at('result', 'error', 'code'), /^[A-Z][A-Z0-9_]*$/, `${what}: error.code`);
      }
    },
  ),
]);

const authenticated = [endpoints.taskResponse, endpoints.convertFile, endpoints.uploadFile, endpoints.downloadUrl];

const authenticationRules = inSection('Authentication', [
  rule('A request without an Authorization header is refused, on every endpoint', async (session) => {
    for (const path of Object.values(endpoints)) {
      ensureRefused(await session.raw({ path, authorization: undefined }), `${path} without the header`);
    }
  }),
  rule('A header other than Bearer with the app token is refused', async (session) => {
    for (const authorization of ['Bearer wrong-token', 'Basic YTpi', 'Bearer']) {
      for (const path of authenticated) {
        ensureRefused(await session.raw({ path, authorization }), `${path} with ${authorization}`);
      }
    }
  }),
  rule('The data key app must name the app that the token belongs to', async (session) => {
    const data = { app: '00000000-0000-4000-8000-000000000000', connector: await session.uploaded() };
    ensureRefused(await session.post(endpoints.taskResponse, data), 'the App ID of nobody');
  }),
  rule(
    'In development, a file that is not registered is refused with ONLY_DEVELOPMENT_REQUEST (403) when it is uploaded',
    { needs: 'developmentApp' },
    async (session) => {
      const as = session.capability('developmentApp');
      ensureAccepted(await session.upload({ as }), 'an upload of a registered file');
      const file = { name: 'unregistered.png', bytes: Buffer.concat([sample.bytes, Buffer.from('more')]) };
      const reply = await session.upload({ as, file });
      ensureError(reply, ['ONLY_DEVELOPMENT_REQUEST'], 'an upload of a file that is not registered');
      ensureEqual(reply.status, 403, 'the HTTP status');
    },
  ),
  rule('The App ID of another app is refused', { needs: 'secondApp' }, async (session) => {
    const data = { app: session.capability('secondApp').appId, connector: await session.uploaded() };
    ensureRefused(await session.post(endpoints.taskResponse, data), 'the App ID of another app');
  }),
  rule(
    'The tasks of another app are not there: their connectors belong to no task',
    { needs: 'secondApp' },
    async (session) => {
      const other = session.capability('secondApp');
      const connector = await session.uploaded();
      const { connector: converted } = await session.converted();
      const link = (await session.linked()).text('result', 'output', 'connector');
      const requests: [string, unknown][] = [
        [endpoints.taskResponse, connector],
        [endpoints.convertFile, connector],
        [endpoints.downloadUrl, converted],
        [endpoints.downloadUrlGet, link],
      ];
      for (const [path, theirs] of requests) {
        const parameters = path === endpoints.convertFile ? { output: 'webp' } : undefined;
        const reply = await session.post(path, { connector: theirs, parameters }, { as: other });
        ensureEqual(reply.errorCode, 'NO_CONNECTOR_DEPENDENT_TASK', `the error of ${path}`);
      }
    },
  ),
]);

const versioningRules = inSection('Versioning', [
  rule('The API version is the first path segment, v1; with another there is no endpoint', async (session) => {
    for (const path of ['v0/task/response', 'V1/task/response', 'api/v1/task/response']) {
      const reply = await session.raw({ path });
      ensureEqual(reply.errorCode, 'NOT_FOUND', `the error of ${path}`);
    }
  }),
]);

const beyondVersionRules = beyond('Beyond: requests', 'page: version', [
  rule('A path without a version means the latest one', async (session) => {
    const reply = await session.post(endpoints.taskResponse.replace(/^v1\//, ''), {
      connector: await session.uploaded(),
      include: ['entity', 'result'],
    });
    // Where v1 is not the latest any more, the task is of another version.
    if (reply.errorCode === 'MISMATCH_VERSION_DEPENDENT_TASK') return;
    ensureAccepted(reply, 'task/response without a version');
    ensureMatches(reply.at('entity', 'endpoint'), /^v\d+\/task\/response$/, 'endpoint');
  }),
]);

const beyondAuthenticationRules = beyond('Beyond: authentication', 'page: error', [
  authenticationError('MISSING_AUTHORIZATION_HEADER', undefined),
  authenticationError('INVALID_AUTHORIZATION_HEADER', 'Basic YTpi'),
  authenticationError('INVALID_CREDENTIAL', 'Bearer no-token-of-anybody'),
  rule(
    'DISABLED_FOR_FREE_APP is answered with HTTP 403 where the free app may not go',
    { needs: 'freeApp' },
    async (session) => {
      const app = session.capability('freeApp');
      const reply = await session.post(app.disabledEndpoint, {}, { as: app });
      ensureError(reply, ['DISABLED_FOR_FREE_APP'], app.disabledEndpoint);
      ensureEqual(reply.status, 403, 'the HTTP status');
    },
  ),
  rule(
    'FREE_APP_LIMITED is answered with HTTP 429 when the daily limit of the free app is reached',
    { needs: 'freeApp' },
    async (session) => {
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
  ),
]);

function authenticationError(code: string, authorization: string | undefined): SectionRule {
  return rule(`${code} is answered with HTTP 403`, async (session) => {
    const reply = await session.raw({ path: endpoints.taskResponse, authorization });
    ensureError(reply, [code], `Authorization: ${authorization ?? '(none)'}`);
    ensureEqual(reply.status, 403, 'the HTTP status');
  });
}

export const endpointRules = [
  ...pathRules,
  ...authenticationRules,
  ...versioningRules,
  ...beyondVersionRules,
  ...beyondAuthenticationRules,
];
