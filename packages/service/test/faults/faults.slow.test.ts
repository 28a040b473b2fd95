import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../../test/support/until';
import { openAdministration } from '../../src/administration';
import { FaultRules, type FaultsOptions, faultsSchema } from '../../src/faults/faults';
import { createApp, createDataDir, startTestService, type TestApp, TestClient, tinyPng } from '../support';

/** Deliberate faults, from configuration, over real sockets. */

type FaultList = NonNullable<FaultsOptions['faults']>;
type Running = Awaited<ReturnType<typeof startTestService>>;

const appId = '11111111-2222-4333-8444-555555555555';
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A service with these faults; its app has 10 vCredits. */
async function startFaulty(faults: FaultList, options: { testApp?: TestApp } = {}): Promise<Running> {
  const testApp = options.testApp ?? createApp();
  const running = await startTestService({ apps: [{ ...testApp.app, vcredits: 10 }], faults: { faults } }, testApp);
  stops.push(running.stop);
  return running;
}

/** Number of conversion tasks, and vCredits, from the service's database. */
async function book({ dataDir, client }: Running) {
  const administration = await openAdministration({ dataDir });
  const tasks = administration.listTasks({ appId: client.app.appId, limit: 100 });
  const balance = administration.balanceOf(client.app.appId);
  administration.close();
  return { conversions: tasks.filter(({ endpoint }) => endpoint === 'v1/convert/file').length, balance };
}

/** Converts in mode sync, so that the conversion is over when any answer arrives. */
async function convertRaw(client: TestClient): Promise<Response> {
  const connector = await client.upload('dot.png', tinyPng);
  const form = new FormData();
  form.set('data', JSON.stringify({ app: client.app.appId, connector, parameters: { output: 'webp' } }));
  return client.send('convert/file', { body: form });
}

/** Waits up to 20 s for a conversion whose answer was lost to be charged. */
async function untilCharged(running: Running): Promise<Awaited<ReturnType<typeof book>>> {
  const end = Date.now() + 20_000;
  let now = await book(running);
  while (now.balance.vcredits === 10 && Date.now() < end) now = await book(running);
  return now;
}

async function askFormat(client: TestClient, output = 'pdf'): Promise<Response> {
  const body = new URLSearchParams({ data: JSON.stringify({ app: client.app.appId, parameters: { format: output } }) });
  return client.send('format/get', { body });
}

async function statuses(client: TestClient, requests: number): Promise<number[]> {
  const found: number[] = [];
  for (let count = 0; count < requests; count += 1) found.push((await askFormat(client)).status);
  return found;
}

const untouched = { conversions: 0, balance: { vcredits: 10, reserved: 0 } };
const charged = { conversions: 1, balance: { vcredits: 9, reserved: 0 } };

describe('a fault of a request', () => {
  it.each([
    ['before', untouched],
    ['after', charged],
  ] as const)('error %s the task answers 500 with the matching task and charge', async (when, expected) => {
    const running = await startFaulty([{ kind: 'error', when, endpoint: 'convert/file' }]);
    const answer = await convertRaw(running.client);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ result: { error: { code: 'INTERNAL_SERVER_ERROR' } } });
    expect(await book(running)).toEqual(expected);
  });

  it('cut before the answer closes the connection after the task has run', async () => {
    const running = await startFaulty([{ kind: 'cut', at: 'before_answer', endpoint: 'convert/file' }]);
    await expect(convertRaw(running.client)).rejects.toThrow('fetch failed');
    expect(await untilCharged(running)).toEqual(charged);
  });

  it('cut after the headers sends a status but no byte of the body', async () => {
    const running = await startFaulty([{ kind: 'cut', at: 'after_headers', endpoint: 'convert/file' }]);
    const answer = await convertRaw(running.client);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const { text, broke } = await readUntilItBreaks(answer);
    expect([text, broke]).toEqual(['', true]);
    expect(await book(running)).toEqual(charged);
  });

  it('cut during a download sends half of the file', async () => {
    const { client } = await startFaulty([{ kind: 'cut', at: 'mid_body', endpoint: 'download/url/get', first: 1 }]);
    const { output } = await client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
    const half = await readUntilItBreaks(await openDownload(client, output.connector));
    const whole = await readUntilItBreaks(await openDownload(client, output.connector));
    expect([half.broke, whole.broke]).toEqual([true, false]);
    expect(half.bytes.length).toBe(Math.floor(whole.bytes.length / 2));
    expect(whole.bytes.subarray(0, half.bytes.length).equals(half.bytes)).toBe(true);
  });

  it('latency delays the answer', async () => {
    const { client } = await startFaulty([
      { kind: 'latency', ms: 200, endpoint: 'format/get', first: 1 },
      { kind: 'latency', ms: 200, class: 'info', first: 1 },
    ]);
    const started = Date.now();
    expect((await askFormat(client)).status).toBe(200);
    expect(Date.now() - started).toBeGreaterThanOrEqual(395);
  });

  it('latency starts no task for a client that has disconnected', async () => {
    const running = await startFaulty([{ kind: 'latency', ms: 400, endpoint: 'convert/file' }]);
    const connector = await running.client.upload('dot.png', tinyPng);
    const data = JSON.stringify({ app: running.client.app.appId, connector, parameters: { output: 'webp' } });
    const body = new URLSearchParams({ data });
    await expect(running.client.send('convert/file', { body, signal: AbortSignal.timeout(100) })).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await book(running)).toEqual(untouched);
  });

  it.each([
    ['whole seconds', '2', '2'],
    ['an HTTP date', 'Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['a negative number', '-5', '-5'],
    ['an empty text', '', ''],
    ['no header at all', undefined, null],
  ])('rate_limit answers 429 with a RETRY-AFTER of %s and runs nothing', async (_title, retryAfter, header) => {
    const storm = { kind: 'rate_limit', endpoint: 'convert/file', first: 2 } as const;
    const running = await startFaulty([retryAfter === undefined ? storm : { ...storm, retry_after: retryAfter }]);
    for (let count = 0; count < 2; count += 1) {
      const answer = await convertRaw(running.client);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, header]);
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('0');
      expect(await answer.json()).toMatchObject({ result: { error: { code: 'TOO_MANY_REQUESTS' } } });
    }
    expect([await book(running), (await convertRaw(running.client)).status]).toEqual([untouched, 200]);
  });

  it.each([
    ['before', 200, untouched],
    ['after', 502, charged],
  ] as const)('html %s the task answers with an HTML page and status %i', async (when, status, expected) => {
    const running = await startFaulty([{ kind: 'html', when, status, endpoint: 'convert/file' }]);
    const answer = await convertRaw(running.client);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
    expect(await answer.text()).toMatch(/^<!DOCTYPE html>/);
    expect(await book(running)).toEqual(expected);
  });

  it('html instead of a file sends no header about the file', async () => {
    const { client } = await startFaulty([{ kind: 'html', when: 'after', status: 200, endpoint: 'download/url/get' }]);
    const { output } = await client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
    const answer = await openDownload(client, output.connector);
    expect(answer.headers.get('content-disposition')).toBeNull();
    expect(await answer.text()).toMatch(/^<!DOCTYPE html>/);
  });

  it('slow_download sends the whole file at the configured speed', async () => {
    const { client } = await startFaulty([{ kind: 'slow_download', bytes_per_second: 100, first: 1 }]);
    const { output } = await client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
    const started = Date.now();
    const slow = await readUntilItBreaks(await openDownload(client, output.connector));
    expect(Date.now() - started).toBeGreaterThanOrEqual(slow.bytes.length * 10 * 0.9);
    expect(slow.bytes.equals((await readUntilItBreaks(await openDownload(client, output.connector))).bytes)).toBe(true);
  });

  it('does not apply to requests refused at admission', async () => {
    const { client } = await startFaulty([{ kind: 'error', when: 'before', first: 1 }]);
    expect((await askFormat(new TestClient(client.url, createApp()))).status).toBe(403);
    expect(await statuses(client, 2)).toEqual([500, 200]);
  });
});

describe('filters of a fault', () => {
  it('first: applies only that many times', async () => {
    const { client } = await startFaulty([{ kind: 'error', when: 'before', first: 2 }]);
    expect(await statuses(client, 4)).toEqual([500, 500, 200, 200]);
  });

  it('app: matches the name or App ID, and no other app', () => {
    for (const app of ['mine', appId.toUpperCase()]) {
      const rules = rulesOf([{ kind: 'error', when: 'before', app }]);
      expect(ask(rules).answer?.kind).toBe('error');
      expect(ask(rules, { app: { name: 'other', appId: 'b' } }).answer).toBeUndefined();
    }
  });

  it('endpoint and class: match in every API version', () => {
    const rules = rulesOf([
      { kind: 'latency', ms: 1, endpoint: 'convert/file' },
      { kind: 'latency', ms: 2, class: 'poll' },
    ]);
    expect(ask(rules, { endpoint: 'v2/convert/file', rateClass: 'submit' }).delayMs).toBe(1);
    expect(ask(rules, { endpoint: 'v1/task/response', rateClass: 'poll' }).delayMs).toBe(2);
    expect(ask(rules, { endpoint: 'v1/upload/file', rateClass: 'upload' }).delayMs).toBe(0);
  });

  it('use the first of several faults that match a request', () => {
    const rules = rulesOf([
      { kind: 'rate_limit', first: 1 },
      { kind: 'error', when: 'before' },
    ]);
    expect([ask(rules).answer?.kind, ask(rules).answer?.kind]).toEqual(['rate_limit', 'error']);
  });
});

it('decides callback faults for each callback of the app: lost, late, several times', () => {
  const rules = rulesOf([
    { kind: 'callback_lost', first: 1 },
    { kind: 'callback_late', ms: 300, first: 2 },
    { kind: 'callback_duplicate', copies: 3, app: 'mine' },
    { kind: 'latency', ms: 5 },
  ]);
  expect([1, 2, 3].map(() => rules.ofCallback({ name: 'mine', appId }))).toEqual([
    { lost: true, delayMs: 300, copies: 3 },
    { lost: false, delayMs: 300, copies: 3 },
    { lost: false, delayMs: 0, copies: 3 },
  ]);
  expect(rules.ofCallback({ name: 'other', appId: 'b' })).toEqual({ lost: false, delayMs: 0, copies: 1 });
});

describe('faults.toml', () => {
  const error = '[[faults]]\nkind = "error"\nwhen = "before"\n';

  it('turns faults on, with one log line at the start', async () => {
    const dataDir = await createDataDir();
    const off = await startTestService({ dataDir });
    expect([(await askFormat(off.client)).status, off.logged]).toEqual([200, []]);
    await off.service.close();
    await writeFile(path.join(dataDir, 'faults.toml'), `${error}first = 1\n`);
    const on = await startTestService({ dataDir });
    stops.push(on.stop);
    expect(on.logged).toEqual([
      `FAULTS ARE ON: this service fails on purpose, as ${path.join(dataDir, 'faults.toml')} says: error when=before first=1`,
    ]);
    expect(await statuses(on.client, 2)).toEqual([500, 200]);
  });

  it('is reloaded on demand: counts continue if it is unchanged, and an invalid file changes nothing', async () => {
    const running = await startTestService();
    stops.push(running.stop);
    const { client, service, dataDir, logged } = running;
    const file = path.join(dataDir, 'faults.toml');
    await writeFile(file, `${error}first = 2\n`);
    expect([await service.reloadFaults(), await statuses(client, 1)]).toEqual([true, [500]]);
    expect([await service.reloadFaults(), await statuses(client, 2)]).toEqual([true, [500, 200]]);
    await writeFile(file, `${error}first = 0\n`);
    expect(await service.reloadFaults()).toBe(false);
    expect(logged.at(-1)).toBe(`the faults stay as they were: ${file}: faults.0.first: must be 1 or more`);
    await writeFile(file, error);
    expect([await service.reloadFaults(), await statuses(client, 3)]).toEqual([true, [500, 500, 500]]);
    await rm(file);
    expect([await service.reloadFaults(), logged.at(-1)]).toEqual([true, 'faults are off']);
    expect(await statuses(client, 1)).toEqual([200]);
  });

  it.each([
    ['[[faults]]\n', 'faults.0.kind: must be one of latency, error, html, rate_limit, cut, slow_download, '],
    [`${error}[[faults]]\nkind = "latency"\n`, 'faults.1.ms: must be a number of milliseconds'],
    ['[[faults]]\nkind = "latency"\nms = -1\n', 'faults.0.ms: must be more than 0'],
    [`${error}ms = 5\n`, 'faults.0.ms: there is no such key'],
    ['[[faults]]\nkind = "error"\n', 'faults.0.when: must be "before" or "after"'],
    [`${error}endpoint = "convert/files"\n`, 'faults.0.endpoint: must be one of upload/file, convert/file, '],
    [`${error}class = "poll"\nendpoint = "convert/file"\n`, 'faults.0.class: cannot stand beside "endpoint"'],
    [`${error}app = "nobody"\n`, 'faults.0.app: there is no app "nobody"; there are: test'],
    ['[[faults]]\nkind = "rate_limit"\nretry_after = 2\n', 'faults.0.retry_after: must be a text, for example "2"'],
    ['[[faults]]\nkind = "rate_limit"\nretry_after = "a\\nb"\n', 'faults.0.retry_after: must be a text that a header'],
    ['[[faults]]\nkind = "callback_duplicate"\ncopies = 1\n', 'faults.0.copies: must be 2 or more'],
    ['[faults]\nkind = "error"\n', 'faults: must be written as [[faults]]'],
    ['seeds = 1\n', 'seeds: there is no such key'],
  ])('with %j is refused in one line: %s', async (text, problem) => {
    const dataDir = await createDataDir();
    const file = path.join(dataDir, 'faults.toml');
    await writeFile(file, text);
    const message = await startTestService({ dataDir }).then(
      () => 'the service started',
      (reason: unknown) => (reason as Error).message,
    );
    expect(message).toContain(`${file}: ${problem}`);
    expect(message).not.toContain('\n');
  });

  it('is reloaded on change after the accounts, so that a fault may name a new app', async () => {
    const running = await startTestService();
    stops.push(running.stop);
    const { client, dataDir, logged } = running;
    await writeFile(
      path.join(dataDir, 'accounts.toml'),
      `[apps.late]\napp_id = "${appId}"\ntoken_sha256 = "${'0'.repeat(64)}"\n`,
    );
    await writeFile(
      path.join(dataDir, 'faults.toml'),
      `${error}app = "late"\n[[faults]]\nkind = "html"\nwhen = "before"\nstatus = 502\n`,
    );
    await until('the fault happens', async () => (await statuses(client, 1))[0] === 502);
    expect(logged.filter((line) => line.includes('stay as they were'))).toEqual([]);
  });

  it('must exist if it is named', async () =>
    await expect(startTestService({ faultsFile: '/nowhere/faults.toml' })).rejects.toThrow(
      '/nowhere/faults.toml: there is no such faults file',
    ));
});

it('checks the option faults like the file', async () => {
  const faults = { faults: [{ kind: 'latency', ms: 0 }] } satisfies FaultsOptions;
  await expect(startTestService({ faults })).rejects.toThrow('the option faults: faults.0.ms: must be more than 0');
});

const rulesOf = (faults: FaultList): FaultRules => new FaultRules(faultsSchema.parse({ faults }));

const ask = (rules: FaultRules, request: Partial<Parameters<FaultRules['ofRequest']>[0]> = {}) =>
  rules.ofRequest({ app: { name: 'mine', appId }, endpoint: 'v1/format/get', rateClass: 'info', ...request });

async function openDownload(client: TestClient, connector: string | undefined): Promise<Response> {
  const { output } = await client.post('download/url', { connector });
  const form = new FormData();
  form.set('data', JSON.stringify({ app: client.app.appId, connector: output.connector }));
  return client.send('download/url/get', { body: form });
}

async function readUntilItBreaks({ body }: Response): Promise<{ bytes: Buffer; text: string; broke: boolean }> {
  const chunks: Uint8Array[] = [];
  let broke = false;
  try {
    for await (const chunk of body ?? []) chunks.push(chunk as Uint8Array);
  } catch {
    broke = true;
  }
  const bytes = Buffer.concat(chunks);
  return { bytes, text: bytes.toString('utf8'), broke };
}
