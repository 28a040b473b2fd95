import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createCallbackApp, startReceiver } from '../callbacks/receiver';
import { createDataDir, startTestService, tinyPng } from '../support';

/** curl with requests in the document's own words, and as docs/service/clients.md shows them. */

const hasCurl = ['curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const withCurl = hasCurl ? it : it.skip;
const page = readFileSync(path.resolve(__dirname, '../../../../docs/service/clients.md'), 'utf8');
const [, example = ''] = /## curl\n\n```\n(.*?)```/s.exec(page) ?? [];
const [post = '', ...chain] = example.split('\n').map((line) => line.replace(/^\$ /, ''));

let folder: string;
let running: Awaited<ReturnType<typeof startTestService>>;
const own = createCallbackApp();

beforeAll(async () => {
  folder = await createDataDir();
  await writeFile(path.join(folder, 'accounts.toml'), '[free_app]\nenabled = true\ndaily_conversions = 1\n');
  running = await startTestService({ dataDir: folder }, own);
  await writeFile(path.join(folder, 'report.md'), '# Report\n');
  await writeFile(path.join(folder, 'cut.png'), tinyPng.subarray(0, 40));
  await writeFile(path.join(folder, 'data.json'), '{}');
});

afterAll(() => running.stop());

async function shell(...lines: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], CONVERSION_URL: running.service.url, CONVERSION_APP: own.app.appId };
  const script = [post, ...lines].join('\n');
  const options = { cwd: folder, env: { ...env, CONVERSION_TOKEN: own.token } };
  return (await promisify(execFile)('bash', ['-euc', script], options)).stdout;
}

const upload = (file: string) =>
  `UPLOAD=$(post upload/file "{\\"app\\": \\"$CONVERSION_APP\\"}" -F file=@${file} | jq -r .result.output.connector)`;
const convert = (rest: string) =>
  `post convert/file "{\\"app\\": \\"$CONVERSION_APP\\", \\"connector\\": \\"$UPLOAD\\", ${rest.replaceAll('"', '\\"')}}"`;

withCurl('the example of docs/service/clients.md ends with the converted file', async () => {
  expect(chain.length).toBeGreaterThan(3);
  await shell(...chain);
  expect((await readFile(path.join(folder, 'report.pdf'), 'latin1')).slice(0, 5)).toBe('%PDF-');
});

withCurl('an async conversion answers with its entity, and calls back how it ended', async () => {
  const receiver = await startReceiver();
  const rest = `"mode": "async", "include": ["entity"], "callback": "${receiver.url}", "parameters": {"output": "webp"}`;
  const answer = JSON.parse(await shell(upload('cut.png'), convert(rest))) as { entity: { status: string } };
  expect(answer.entity.status).toBe('running');
  const [call] = await receiver.count(1);
  expect(JSON.parse(call?.body ?? '')).toMatchObject({ entity: { status: 'completed' }, code: 'FAILED_CONVERT' });
  await receiver.close();
});

withCurl('a file in the place of the field data is told as such', async () => {
  const answer = await shell(
    'curl -s -H "Authorization: Bearer $CONVERSION_TOKEN" "$CONVERSION_URL/v1/format/get" -F data=@data.json',
  );
  expect(JSON.parse(answer)).toMatchObject({
    code: 'WRONG_TYPE_FIELD',
    message: 'The field data has the wrong type: it is a file; send its text (curl: data=<FILE).',
  });
});

withCurl('the free app converts, and is refused when its day is used up', async () => {
  const free = ['CONVERSION_APP=free', 'CONVERSION_TOKEN=FREE-TOKEN', upload('report.md')];
  const toHtml = convert('"parameters": {"output": "html"}');
  const twice = await shell(...free, toHtml, 'echo', toHtml);
  const [first, second] = twice.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(first).toMatchObject({ result: { output: { status: 'successful' }, error: {} } });
  expect(second).toMatchObject({ code: 'FREE_APP_LIMITED' });
});
