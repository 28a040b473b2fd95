import { endpoints } from 'temporal-file-conversion/contract';
import { createForm } from '../http';
import { beyond, inSection, rule } from '../rule';
import { brokenSample, sampleOutput } from '../target';
import { ensureAccepted, ensureEqual, ensureError, ensureOneOf, ensureRefused } from '../verdict';

/** "Task request body" and "Data keys": what a request has to hold, and what is refused. */

const fieldErrors = ['INVALID_FIELD', 'WRONG_TYPE_FIELD'];
/** Wrong, though of the right JSON type: the document does not say which mistake gets which code. */
const dataKeyErrors = ['INVALID_DATA_KEY', 'WRONG_VALUE_DATA_KEY'];
/** A text that is no UUID may be of the wrong type too. */
const uuidErrors = [...dataKeyErrors, 'WRONG_TYPE_DATA_KEY'];
const wrongDataKey = ['WRONG_TYPE_DATA_KEY'];

const requestBodyRules = inSection('Task request body', [
  rule('The form field data carries a JSON object; other JSON is of the wrong type', async (session) => {
    for (const data of ['[]', '"text"', 'null', '7']) {
      const reply = await session.raw({ path: endpoints.taskResponse, body: createForm(data) });
      ensureError(reply, ['WRONG_TYPE_FIELD'], `the field data holding ${data}`);
    }
  }),
  rule('Text that is no JSON is refused in the form field data', async (session) => {
    for (const data of ['{"app": ', 'app']) {
      const reply = await session.raw({ path: endpoints.taskResponse, body: createForm(data) });
      ensureError(reply, fieldErrors, `the field data holding ${data}`);
    }
  }),
  rule('The field data is required', async (session) => {
    const form = createForm(undefined);
    form.set('other', '1');
    for (const body of [form, new URLSearchParams()]) {
      const reply = await session.raw({ path: endpoints.taskResponse, body });
      ensureOneOf(reply.errorCode, ['MISSING_REQUIRED_FIELD', 'INVALID_FIELD'], 'the error of a form without data');
    }
  }),
]);

const dataKeyRules = inSection('Data keys', [
  rule('app is required', async (session) => {
    const reply = await session.monitor(await session.uploaded(), { app: undefined });
    ensureError(reply, ['MISSING_REQUIRED_DATA_KEY'], 'a request without app');
  }),
  rule('app is a uuid in a string', async (session) => {
    const connector = await session.uploaded();
    for (const app of [7, ['x'], {}]) {
      const reply = await session.monitor(connector, { app });
      ensureError(reply, wrongDataKey, `the app ${JSON.stringify(app)}`);
    }
    const reply = await session.monitor(connector, { app: 'mine' });
    ensureError(reply, [...uuidErrors, 'INVALID_CREDENTIAL'], 'the app "mine"');
  }),
  ...[endpoints.convertFile, endpoints.taskResponse, endpoints.downloadUrl].map((endpoint) =>
    rule(`connector is required for ${endpoint}`, async (session) => {
      const parameters = endpoint === endpoints.convertFile ? { output: sampleOutput } : undefined;
      const reply = await session.post(endpoint, { parameters });
      ensureError(reply, ['MISSING_REQUIRED_DATA_KEY'], `${endpoint} without connector`);
    }),
  ),
  rule('connector is a uuid in a string', async (session) => {
    for (const connector of [7, ['x']]) {
      const reply = await session.monitor('', { connector });
      ensureError(reply, wrongDataKey, `the connector ${JSON.stringify(connector)}`);
    }
    for (const connector of ['../../etc/passwd', '']) {
      const reply = await session.monitor('', { connector });
      ensureError(reply, uuidErrors, `the connector ${JSON.stringify(connector)}`);
    }
  }),
  rule('connector is not sent to upload tasks, which start jobs', async (session) => {
    ensureAccepted(await session.upload(), 'an upload without a connector');
  }),
  rule('include is an array of strings: anything else is of the wrong type', async (session) => {
    for (const include of ['result', { result: true }, 1, [5]]) {
      const reply = await session.monitor(await session.uploaded(), { include });
      ensureError(reply, wrongDataKey, `include ${JSON.stringify(include)}`);
    }
  }),
  rule('include takes no elements but entity, payload and result', async (session) => {
    for (const include of [['everything'], ['entity', 'ENTITY']]) {
      const reply = await session.monitor(await session.uploaded(), { include });
      ensureError(reply, dataKeyErrors, `include ${JSON.stringify(include)}`);
    }
  }),
  rule('include is ["result"] by default', { restatedIn: ['convert/file', 'task/response'] }, async (session) => {
    const connector = await session.uploaded();
    const reply = await session.monitor(connector);
    ensureEqual(reply.keys, ['result'], 'what task/response returns without include');
    const { sent } = await session.converted();
    const plain = await session.post(endpoints.convertFile, { ...sent, connector, include: undefined });
    ensureEqual(plain.keys, ['result'], 'what convert/file returns without include');
  }),
  rule('mode is a string: anything else is of the wrong type', async (session) => {
    for (const mode of [5, null, ['sync']]) {
      ensureError(await session.submit({ mode }), wrongDataKey, `the mode ${JSON.stringify(mode)}`);
    }
  }),
  rule('mode takes no values but sync and async', async (session) => {
    for (const mode of ['later', 'SYNC']) {
      ensureError(await session.submit({ mode }), dataKeyErrors, `the mode ${JSON.stringify(mode)}`);
    }
  }),
  rule('mode is sync by default: the answer comes when the task is completed', async (session) => {
    const reply = await session.submit({ include: ['entity', 'result'] });
    ensureEqual(reply.at('entity', 'status'), 'completed', 'entity.status of an answer without mode');
  }),
  rule('mode async is answered before the task is completed', async (session) => {
    const { accepted } = await session.started();
    ensureOneOf(accepted.at('entity', 'status'), ['hold', 'running'], 'entity.status of an async answer');
  }),
  rule('callback is a URL in a string', async (session) => {
    for (const callback of [7, ['https://example.com/']]) {
      const reply = await session.submit({ callback });
      ensureError(reply, wrongDataKey, `the callback ${JSON.stringify(callback)}`);
    }
    const reply = await session.submit({ callback: 'not a url' });
    ensureError(reply, [...uuidErrors, 'INVALID_CALLBACK'], 'the callback "not a url"');
  }),
  rule(
    'callback must have a domain that is verified for the app',
    { restatedIn: ['Authentication'], needs: 'unverifiedCallback' },
    async (session) => {
      const { url } = session.capability('unverifiedCallback');
      ensureRefused(await session.submit({ callback: url }), 'a callback of a domain that is not verified');
    },
  ),
  rule('parameters is required when one of them is', async (session) => {
    const reply = await session.submit({ parameters: undefined });
    const codes = ['MISSING_REQUIRED_DATA_KEY', 'MISSING_REQUIRED_PARAMETER'];
    ensureError(reply, codes, 'convert/file without parameters');
  }),
  rule('parameters may be left out when all of them are optional', async (session) => {
    ensureAccepted(await session.monitor(await session.uploaded()), 'task/response without parameters');
  }),
  rule('parameters is an object', async (session) => {
    for (const parameters of [['output'], 'output', 7]) {
      const reply = await session.submit({ parameters });
      ensureError(reply, wrongDataKey, `parameters ${JSON.stringify(parameters)}`);
    }
  }),
]);

const convertFileRules = inSection('convert/file', [
  rule('It converts a previously uploaded file', async (session) => {
    ensureAccepted((await session.converted()).reply, 'the conversion of an uploaded image');
  }),
  rule('parameters.output is required', async (session) => {
    const reply = await session.submit({ parameters: {} });
    ensureError(reply, ['MISSING_REQUIRED_PARAMETER'], 'convert/file without parameters.output');
  }),
  rule('parameters.output is a string', async (session) => {
    for (const output of [7, ['pdf'], {}]) {
      const reply = await session.submit({ parameters: { output } });
      ensureError(reply, ['WRONG_TYPE_PARAMETER'], `parameters.output ${JSON.stringify(output)}`);
    }
  }),
  rule('Its connector comes from the output of an upload task; another task is refused', async (session) => {
    const link = (await session.linked()).text('result', 'output', 'connector');
    const converted = (await session.converted()).connector;
    for (const [what, connector] of [
      ['a conversion', converted],
      ['download/url', link],
    ]) {
      const reply = await session.submit({ connector, parameters: { output: 'png' } });
      ensureError(reply, ['MISMATCH_DEPENDENT_TASK'], `convert/file with the connector of ${what}`);
    }
  }),
]);

const beyondRules = beyond('Beyond: requests', 'page: structure', [
  rule('The field data is a JSON string of a multipart form', async (session) => {
    const data = JSON.stringify({ app: session.own.appId, connector: await session.uploaded() });
    ensureAccepted(await session.raw({ path: endpoints.taskResponse, body: createForm(data) }), 'a multipart form');
  }),
  rule('The same field is accepted in an urlencoded form', { source: 'client: Python' }, async (session) => {
    const data = JSON.stringify({ app: session.own.appId, connector: await session.uploaded() });
    const reply = await session.raw({ path: endpoints.taskResponse, body: new URLSearchParams({ data }) });
    ensureAccepted(reply, 'an urlencoded form');
  }),
  rule(
    'A data key or parameter that is not known is refused or ignored, never a failure of the service',
    { source: 'page: version' },
    async (session) => {
      const reply = await session.submit({ later: true, parameters: { output: sampleOutput, also: 1 } });
      ensureOneOf(reply.status, [200, 400], 'the HTTP status');
    },
  ),
  rule(
    'A file that breaks off in the middle fails as a task and not as a request',
    { source: 'page: convert/file' },
    async (session) => {
      const { reply } = await session.failed();
      ensureEqual(reply.at('entity', 'status'), 'completed', `entity.status after ${brokenSample.name}`);
    },
  ),
]);

export const requestRules = [...requestBodyRules, ...dataKeyRules, ...convertFileRules, ...beyondRules];
