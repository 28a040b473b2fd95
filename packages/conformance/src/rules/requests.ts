import { endpoints } from 'temporal-file-conversion/contract';
import { createForm } from '../http';
import { beyond, type Checks, from, inSection, refuses, type Send } from '../rule';
import { brokenSample, sampleOutput } from '../target';
import { ensureAccepted, ensureEqual, ensureError, ensureOneOf, ensureRefused } from '../verdict';

/** "Task request body" and "Data keys": what a request has to hold, and what is refused. */

const fieldErrors = ['INVALID_FIELD', 'WRONG_TYPE_FIELD'];
/** For wrong values of the right JSON type; the document does not say which mistake gets which code. */
const dataKeyErrors = ['INVALID_DATA_KEY', 'WRONG_VALUE_DATA_KEY'];
/** Text that is no UUID may count as a wrong type, too. */
const uuidErrors = [...dataKeyErrors, 'WRONG_TYPE_DATA_KEY'];
const wrongDataKey = ['WRONG_TYPE_DATA_KEY'];

const including: Send = async (session, include) => session.monitor(await session.uploaded(), { include });
const inMode: Send = (session, mode) => session.submit({ mode });

function requiresConnector(endpoint: string, parameters?: Record<string, string>): Checks {
  return {
    async [`connector is required for ${endpoint}`](session) {
      const reply = await session.post(endpoint, { parameters });
      ensureError(reply, ['MISSING_REQUIRED_DATA_KEY'], `${endpoint} without connector`);
    },
  };
}

export const requestRules = [
  ...inSection('Task request body', {
    async 'The form field data carries a JSON object; other JSON is of the wrong type'(session) {
      for (const data of ['[]', '"text"', 'null', '7']) {
        const reply = await session.raw({ path: endpoints.taskResponse, body: createForm(data) });
        ensureError(reply, ['WRONG_TYPE_FIELD'], `the field data holding ${data}`);
      }
    },
    async 'Text that is no JSON is refused in the form field data'(session) {
      for (const data of ['{"app": ', 'app']) {
        const reply = await session.raw({ path: endpoints.taskResponse, body: createForm(data) });
        ensureError(reply, fieldErrors, `the field data holding ${data}`);
      }
    },
    async 'The field data is required'(session) {
      const form = createForm(undefined);
      form.set('other', '1');
      for (const body of [form, new URLSearchParams()]) {
        const reply = await session.raw({ path: endpoints.taskResponse, body });
        ensureOneOf(reply.errorCode, ['MISSING_REQUIRED_FIELD', 'INVALID_FIELD'], 'the error of a form without data');
      }
    },
  }),
  ...inSection('Data keys', {
    async 'app is required'(session) {
      const reply = await session.monitor(await session.uploaded(), { app: undefined });
      ensureError(reply, ['MISSING_REQUIRED_DATA_KEY'], 'a request without app');
    },
    'app is a uuid in a string': refuses(
      'the app',
      async (session, app) => session.monitor(await session.uploaded(), { app }),
      [wrongDataKey, 7, ['x'], {}],
      [[...uuidErrors, 'INVALID_CREDENTIAL'], 'mine'],
    ),
    ...requiresConnector(endpoints.convertFile, { output: sampleOutput }),
    ...requiresConnector(endpoints.taskResponse),
    ...requiresConnector(endpoints.downloadUrl),
    ...requiresConnector(endpoints.downloadUrlGet),
    ...requiresConnector(endpoints.convertStatus),
    'connector is a uuid in a string': refuses(
      'the connector',
      (session, connector) => session.monitor('', { connector }),
      [wrongDataKey, 7, ['x']],
      [uuidErrors, '../../etc/passwd', ''],
    ),
    async 'connector is not sent to upload tasks, which start jobs'(session) {
      ensureAccepted(await session.upload(), 'an upload without a connector');
      const connector = await session.uploaded();
      ensureRefused(await session.upload({}, { connector }), 'an upload with a connector');
    },
    'include is an array of strings: anything else is of the wrong type': refuses('include', including, [
      wrongDataKey,
      'result',
      { result: true },
      1,
      [5],
    ]),
    'include takes no elements but entity, payload and result': refuses('include', including, [
      dataKeyErrors,
      ['everything'],
      ['entity', 'ENTITY'],
    ]),
    async 'include is ["result"] by default'(session) {
      const connector = await session.uploaded();
      const reply = await session.monitor(connector);
      ensureEqual(reply.keys, ['result'], 'what task/response returns without include');
      const { sent } = await session.converted();
      const plain = await session.post(endpoints.convertFile, { ...sent, connector, include: undefined });
      ensureEqual(plain.keys, ['result'], 'what convert/file returns without include');
    },
    'mode is a string: anything else is of the wrong type': refuses('the mode', inMode, [
      wrongDataKey,
      5,
      null,
      ['sync'],
    ]),
    'mode takes no values but sync and async': refuses('the mode', inMode, [dataKeyErrors, 'later', 'SYNC']),
    async 'mode is sync by default: the answer comes when the task is completed'(session) {
      const reply = await session.submit({ include: ['entity', 'result'] });
      ensureEqual(reply.at('entity.status'), 'completed', 'entity.status of an answer without mode');
    },
    async 'mode async is answered before the task is completed'(session) {
      const { accepted } = await session.started();
      ensureOneOf(accepted.at('entity.status'), ['hold', 'running'], 'entity.status of an async answer');
    },
    'callback is a URL in a string': refuses(
      'the callback',
      (session, callback) => session.submit({ callback }),
      [wrongDataKey, 7, ['https://example.com/']],
      [[...uuidErrors, 'INVALID_CALLBACK'], 'not a url'],
    ),
    async 'callback must have a domain that is verified for the app'(session) {
      const { url } = session.capability('unverifiedCallback');
      ensureRefused(await session.submit({ callback: url }), 'a callback of a domain that is not verified');
    },
    async 'parameters is required when one of them is'(session) {
      const reply = await session.submit({ parameters: undefined });
      const codes = ['MISSING_REQUIRED_DATA_KEY', 'MISSING_REQUIRED_PARAMETER'];
      ensureError(reply, codes, 'convert/file without parameters');
    },
    async 'parameters may be left out when all of them are optional'(session) {
      ensureAccepted(await session.monitor(await session.uploaded()), 'task/response without parameters');
    },
    'parameters is an object': refuses('parameters', (session, parameters) => session.submit({ parameters }), [
      wrongDataKey,
      ['output'],
      'output',
      7,
    ]),
  }),
  ...inSection('convert/file', {
    async 'It converts a previously uploaded file'(session) {
      ensureAccepted((await session.attempted()).reply, 'the conversion of an uploaded image');
    },
    async 'parameters.output is required'(session) {
      const reply = await session.submit({ parameters: {} });
      ensureError(reply, ['MISSING_REQUIRED_PARAMETER'], 'convert/file without parameters.output');
    },
    'parameters.output is a string': refuses(
      'parameters.output',
      (session, output) => session.submit({ parameters: { output } }),
      [['WRONG_TYPE_PARAMETER'], 7, ['pdf'], {}],
    ),
    async 'Its connector comes from the output of an upload task; another task is refused'(session) {
      const { converted, link } = await session.connectors();
      for (const [what, connector] of Object.entries({ 'a conversion': converted, 'download/url': link })) {
        if (connector === undefined) continue;
        const reply = await session.submit({ connector, parameters: { output: 'png' } });
        ensureError(reply, ['MISMATCH_DEPENDENT_TASK'], `convert/file with the connector of ${what}`);
      }
    },
  }),
  ...beyond('Beyond: requests', 'page: structure', {
    async 'The field data is a JSON string of a multipart form'(session) {
      const body = createForm(await session.validData());
      ensureAccepted(await session.raw({ path: endpoints.taskResponse, body }), 'a multipart form');
    },
    ...from('client: Python', {
      async 'The same field is accepted in an urlencoded form'(session) {
        const body = new URLSearchParams({ data: await session.validData() });
        ensureAccepted(await session.raw({ path: endpoints.taskResponse, body }), 'an urlencoded form');
      },
    }),
    ...from('page: version', {
      async 'A data key or parameter that is not known is refused or ignored, never a failure of the service'(session) {
        const reply = await session.submit({ later: true, parameters: { output: sampleOutput, also: 1 } });
        ensureOneOf(reply.status, [200, 400], 'the HTTP status');
      },
    }),
    ...from('page: convert/file', {
      async 'A file that breaks off in the middle fails as a task and not as a request'(session) {
        const { reply } = await session.failed();
        ensureEqual(reply.at('entity.status'), 'completed', `entity.status after ${brokenSample.name}`);
      },
    }),
  }),
];
