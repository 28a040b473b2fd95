import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCodes, type KnownErrorCode } from '../../../../src/contract/error-codes';
import { createApp, createDataDir, parseAnswer, startTestService, TestClient, tinyPng, tinySvg } from '../support';

/**
 * Every code of the table can be provoked at the service, by a request or by its configuration, with the status of the table; but for
 * ONLY_DEVELOPMENT_FILE, in whose place the document has ONLY_DEVELOPMENT_REQUEST.
 */

type Answer = Awaited<ReturnType<TestClient['post']>>;

const unknownConnector = '00000000-0000-4000-8000-000000000000';
const testApp = createApp();
let running: Awaited<ReturnType<typeof startTestService>>;
let client: TestClient;

const accountsFile = () => path.join(running.dataDir, 'accounts.toml');

beforeAll(async () => {
  const dataDir = await createDataDir();
  await writeFile(path.join(dataDir, 'accounts.toml'), accounts(''));
  running = await startTestService({ dataDir, apps: [] }, testApp);
  client = running.client;
});

afterAll(() => running.stop());

function accounts(settings: string): string {
  return `extra_api_versions = ["v2"]
[free_app]
enabled = true
daily_conversions = 0
disabled_endpoints = ["convert/graph"]
[apps.test]
app_id = "${testApp.app.appId}"
token_sha256 = "${String(testApp.app.tokenSha256)}"
${settings}
`;
}

/** Asks under other settings than usual, which are back before anybody looks at the answer. */
async function under(settings: string, ask: () => Promise<Answer>): Promise<Answer> {
  const configure = async (text: string) => {
    await writeFile(`${accountsFile()}.new`, text);
    await rename(`${accountsFile()}.new`, accountsFile());
    expect(await running.service.reloadAccounts()).toBe(true);
  };
  await configure(accounts(settings));
  const answer = await ask();
  await configure(accounts(''));
  return answer;
}

const upload = (name = 'logo.svg', data: string | Uint8Array = tinySvg) =>
  client.post('upload/file', {}, { name, data });
const uploaded = async (name?: string, data?: string | Uint8Array) => (await upload(name, data)).output.connector ?? '';
const convert = async (connector: string, parameters: Record<string, unknown> = { output: 'png' }) =>
  client.post('convert/file', { connector, parameters });
const converted = async () => (await convert(await uploaded())).output.connector ?? '';
const ofMarkdown = async (parameters: Record<string, unknown>) => convert(await uploaded('a.md', '# a'), parameters);
const inVersion2 = (endpoint: string, data: Record<string, unknown>) => client.post(`../v2/${endpoint}`, data);
const withHeader = async (headers: Record<string, string>) =>
  parseAnswer(await fetch(`${client.url}/v1/convert/file`, { method: 'POST', headers }));
const freeApp = () => new TestClient(client.url, { app: { ...testApp.app, appId: 'free' }, token: 'FREE-TOKEN' });

type AnsweredCode = Exclude<KnownErrorCode, 'ONLY_DEVELOPMENT_FILE'>;

const provoke: Record<AnsweredCode, () => Promise<Answer>> = {
  INVALID_DATA_KEY: () => client.post('format/get', { conector: unknownConnector, parameters: { format: 'pdf' } }),
  INVALID_FIELD: () => client.postField('task/response', '{'),
  INVALID_PARAMETER: () => client.post('format/get', { parameters: { format: 'pdf', quality: 1 } }),
  MISMATCH_DEPENDENT_TASK: async () => client.post('download/url', { connector: await uploaded() }),
  MISMATCH_VERSION_DEPENDENT_TASK: async () => inVersion2('task/response', { connector: await uploaded() }),
  MISSING_REQUIRED_DATA_KEY: () => client.post('task/response'),
  MISSING_REQUIRED_FIELD: async () => parseAnswer(await client.send('task/response', {})),
  MISSING_REQUIRED_PARAMETER: () => client.post('format/get', { parameters: {} }),
  WRONG_TYPE_DATA_KEY: () => client.post('task/response', { connector: 7 }),
  WRONG_TYPE_FIELD: () => client.postField('task/response', '[]'),
  WRONG_TYPE_PARAMETER: () => client.post('format/get', { parameters: { format: 7 } }),
  WRONG_VALUE_DATA_KEY: () => client.post('task/response', { connector: 'first' }),
  WRONG_VALUE_PARAMETER: () => client.post('convert/formats', { parameters: { sublist: 'both' } }),
  FREE_PLAN_DISALLOWED: () => under('plan = "free"', upload),
  INSUFFICIENT_VCREDITS: () => under('vcredits = 1\nprices."*" = 2', async () => convert(await uploaded())),
  ONLY_DEVELOPMENT_REQUEST: async () => {
    const connector = await uploaded();
    return under('[apps.test.development]', () => convert(connector));
  },
  DOWNLOAD_EXPIRED: () =>
    under('prices."*" = 0\nlimits.download_lifetime_seconds = 0.001', async () =>
      client.post('download/url', { connector: await converted() }),
    ),
  FILE_NOT_EXISTS: async () => {
    const connector = await uploaded();
    await rm(path.join(running.dataDir, 'uploads', connector));
    return convert(connector);
  },
  NOT_FOUND: () => client.post('convert/nothing'),
  NOT_READY_DEPENDENT_TASK: async () => {
    const failed = await client.convert({ name: 'cut.png', data: tinyPng.subarray(0, 40) }, 'webp');
    return client.post('download/url', { connector: failed.body.entity?.id });
  },
  NO_CONNECTOR_DEPENDENT_TASK: () => client.post('task/response', { connector: unknownConnector }),
  POST_METHOD_ALLOWED: async () => parseAnswer(await fetch(`${client.url}/v1/convert/file`)),
  TOO_MANY_REQUESTS: () =>
    under('rate_limits.upload = 1', async () => {
      await upload();
      return upload();
    }),
  INTERNAL_SERVER_ERROR: async () => {
    const folder = path.join(running.dataDir, 'uploads');
    await rename(folder, `${folder}.away`);
    const answer = await upload();
    await rename(`${folder}.away`, folder);
    return answer;
  },
  MISSING_AUTHORIZATION_HEADER: () => withHeader({}),
  INVALID_AUTHORIZATION_HEADER: () => withHeader({ authorization: 'Basic abc' }),
  INVALID_CREDENTIAL: () => withHeader({ authorization: 'Bearer nobody' }),
  DISABLED_FOR_FREE_APP: () => freeApp().post('convert/graph', { parameters: { input: 'md', output: 'pdf' } }),
  FREE_APP_LIMITED: async () => {
    const { output } = await freeApp().post('upload/file', {}, { name: 'logo.svg', data: tinySvg });
    return freeApp().post('convert/file', { connector: output.connector, parameters: { output: 'png' } });
  },
  EMPTY_FILE: () => upload('a.svg', ''),
  LIMIT_UPLOAD_SIZE: () => under('limits.max_upload_bytes = 10', upload),
  NOT_VALID_EXTENSION: () => upload('a.exe'),
  FAILED_CONVERT: () => client.convert({ name: 'cut.png', data: tinyPng.subarray(0, 40) }, 'webp'),
  INVALID_FORMAT: () => client.post('format/get', { parameters: { format: 'nothing' } }),
  WRONG_FORMAT_STRUCTURE: () => client.post('convert/formats', { parameters: { sublist: 'inputs', format: 'm d' } }),
  INVALID_INPUT_FORMAT: () => ofMarkdown({ output: 'pdf', input: 'nothing' }),
  INVALID_OUTPUT_FORMAT: () => ofMarkdown({ output: 'nothing' }),
  NOT_MATCH_EXTENSION_AND_INPUT: () => ofMarkdown({ output: 'pdf', input: 'docx' }),
  NO_CONVERTER_INPUT_TO_OUTPUT: () => ofMarkdown({ output: 'png' }),
  WRONG_INPUT_FORMAT_STRUCTURE: () => ofMarkdown({ output: 'pdf', input: 'm d' }),
  WRONG_OUTPUT_FORMAT_STRUCTURE: () => ofMarkdown({ output: 'p.d.f' }),
  INVALID_CALLBACK: () => client.post('task/response', { connector: unknownConnector, callback: 'nowhere' }),
  UNVERIFIED_DOMAIN_CALLBACK: () =>
    client.post('task/response', { connector: unknownConnector, callback: 'https://example.com/' }),
};

it('the table holds the 24 codes of the document and the 20 that public clients know beside them', () => {
  expect(Object.keys(errorCodes)).toHaveLength(44);
  expect(Object.keys(provoke)).toHaveLength(43);
});

describe('every error code', () => {
  it.each(Object.keys(provoke) as AnsweredCode[])('can be provoked: %s', async (code) => {
    const { status, error, body } = await provoke[code]();
    expect([status, error.code]).toEqual([errorCodes[code].httpStatus, code]);
    expect(error.message).not.toContain('[NAME]');
    expect(error.message).toMatch(/^[A-Z][^\n]*[.)]$/);
    expect(body.result).toMatchObject({ output: {}, warning: {} });
  });
});
