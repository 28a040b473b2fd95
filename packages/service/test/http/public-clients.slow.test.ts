import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type ClientName, clientNames, PublicClient } from '../../../../test/support/public-client';
import { createApp, createDataDir, longMarkdown, startTestService, tinyPng, tinySvg } from '../support';

/** Unmodified public clients of such a service work with this one. */

let running: Awaited<ReturnType<typeof startTestService>>;
const own = createApp();

beforeAll(async () => {
  const dataDir = await createDataDir();
  await writeFile(path.join(dataDir, 'accounts.toml'), '[free_app]\nenabled = true\ndaily_conversions = 1\n');
  running = await startTestService({ dataDir }, own);
});

afterAll(() => running.stop());

const clientOf = (name: ClientName, account = { app: own.app.appId, token: own.token }): PublicClient =>
  new PublicClient(name, { url: running.service.url, ...account });

const files: [string, { name: string; data: string | Buffer }, string][] = [
  ['a picture', { name: 'dot.png', data: tinyPng }, 'webp'],
  ['a drawing', { name: 'logo.svg', data: tinySvg }, 'png'],
  ['a document that takes some polls', { name: 'report.md', data: longMarkdown(8) }, 'docx'],
  ['a document into JSON', { name: 'note.md', data: '# Note' }, 'json-pandoc'],
];

describe.each(clientNames)('the %s client', (name) => {
  it.each(files)('converts %s', async (_what, file, output) => {
    const { bytes, name: outputName, vcredits } = await clientOf(name).convert(file, output);
    expect(bytes.length).toBeGreaterThan(0);
    expect([outputName, vcredits]).toEqual([expect.stringMatching(/^[a-z]+\.[a-z]+$/), 0]);
  });

  it('learns that a file cannot be converted', async () => {
    const cut = { name: 'cut.png', data: tinyPng.subarray(0, 40) };
    const outcome = clientOf(name).convert(cut, 'webp');
    await expect(outcome).rejects.toMatchObject({ name: 'ServiceSaidNo' });
    await expect(outcome).rejects.toThrow(/^(FAILED_CONVERT|the conversion is failed)$/);
  });

  it('learns what is wrong with its token, file or target', async () => {
    const stranger = clientOf(name, { app: own.app.appId, token: 'nobody' });
    const dot = { name: 'dot.png', data: tinyPng };
    const asked: [PublicClient, { name: string; data: string | Buffer }, string, string][] = [
      [stranger, dot, 'webp', 'INVALID_CREDENTIAL'],
      [clientOf(name), { name: 'empty.png', data: '' }, 'webp', 'EMPTY_FILE'],
      [clientOf(name), dot, 'wibble', 'INVALID_OUTPUT_FORMAT'],
      [clientOf(name), dot, 'docx', 'NO_CONVERTER_INPUT_TO_OUTPUT'],
    ];
    for (const [client, file, output, code] of asked) {
      await expect(client.convert(file, output)).rejects.toMatchObject({ name: 'ServiceSaidNo', code });
    }
  });

  it('reads the warnings of a conversion', async () => {
    const { warnings } = await clientOf(name).convert({ name: 'a.md', data: '![x](x.png)' }, 'html');
    expect(Object.values(warnings)).toEqual([expect.stringMatching(/data: URI/)]);
  });
});

it('limits the conversions of the free app per day, and says how many hours to wait', async () => {
  const free = clientOf('javascript', { app: 'free', token: 'FREE-TOKEN' });
  const dot = { name: 'dot.png', data: tinyPng };
  expect((await free.convert(dot, 'webp')).vcredits).toBe(0);
  await expect(free.convert(dot, 'webp')).rejects.toMatchObject({ name: 'ServiceSaidNo', code: 'FREE_APP_LIMITED' });
});
