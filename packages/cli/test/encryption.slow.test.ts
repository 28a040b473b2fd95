import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { chromium } from 'playwright-core';
import { z } from 'zod';
import { findBrowser } from '../../../test/support/browser';
import { type Ended, type RunningProcess, fileconv, linesOf, newFolder, parseJson, startProcess } from './fileconv';

/** Encryption by configuration, as an operator sets it up: in every process of `fileconv up` and in every command. */

const newKeys = (id: string) => `${id}:${randomBytes(32).toString('base64')}\n`;
const record = z.object({
  temporal: z.object({ address: z.string(), uiUrl: z.string() }),
  codec: z.object({ url: z.string() }),
});

let cwd: string;
let up: RunningProcess;
let stack: z.infer<typeof record>;
let workflowId: string;

beforeAll(async () => {
  cwd = await newFolder();
  await writeFile(path.join(cwd, 'now.keys'), newKeys('2026-11'), { mode: 0o600 });
  await writeFile(path.join(cwd, 'other.keys'), newKeys('other'), { mode: 0o600 });
  await writeFile(path.join(cwd, 'fileconv.toml'), '[encryption]\nkey_file = "now.keys"\n');
  await writeFile(path.join(cwd, 'plain.toml'), '', { mode: 0o600 });
  await writeFile(path.join(cwd, 'budget-cuts.md'), '# Cuts\n');
  up = startProcess(['up', '--json'], { cwd });
  stack = record.parse(await up.untilJson());
  const converted = await run('convert', 'budget-cuts.md', '--to', 'html', '--json');
  ({ workflowId } = z.object({ workflowId: z.string() }).parse(parseJson(converted.stdout)));
});

afterAll(async () => await up.end('SIGTERM'));

const run = (...args: string[]): Promise<Ended> => fileconv(args, { cwd });

const runWith = (env: Record<string, string>, ...args: string[]): Promise<Ended> => fileconv(args, { cwd, env });

it('converts with keys from a file; commands show decrypted what Temporal stores encrypted', async () => {
  expect(workflowId).toMatch(/^[0-9a-f]{16}$/);
  expect((await run('job', 'show', workflowId)).stdout).toContain(`(budget-cuts.md → html)`);
  const connection = await Connection.connect({ address: stack.temporal.address });
  const history = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory();
  await connection.close();
  const input = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  expect(Buffer.from(input?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('2026-11');
});

it('leaves no file name, folder name or derived name of a job, a batch or a schedule in the database', async () => {
  await mkdir(path.join(cwd, 'payroll'));
  await writeFile(path.join(cwd, 'payroll', 'salary-list.md'), '# Salaries\n');
  await writeFile(path.join(cwd, 'payroll', 'salary-gone.md'), '');
  const batch = await run('batch', 'run', 'payroll', '--to', 'html', '--out', 'payslips', '--json');
  expect(parseJson(batch.stdout)).toMatchObject({ counts: { succeeded: 1, failed: 1 } });
  const created = await run(...'schedule create --every 1h --from payroll --to html --out takings'.split(' '));
  expect(created).toMatchObject({ code: 0 });
  const files = (await readdir(path.join(cwd, '.fileconv'))).filter((name) => /^temporal\.db(-wal)?$/.test(name));
  const dump = Buffer.concat(await Promise.all(files.map((name) => readFile(path.join(cwd, '.fileconv', name)))));
  expect(dump.includes(workflowId)).toBe(true);
  expect(['budget-cuts', 'payroll', 'salary', 'payslips', 'takings'].filter((name) => dump.includes(name))).toEqual([]);
});

it('says in one line which key a command lacks, or that encryption is off', async () => {
  const other = await runWith({ FILECONV_ENCRYPTION_KEY_FILE: 'other.keys' }, 'job', 'show', workflowId);
  expect(other).toMatchObject({ code: 1, stdout: '' });
  expect(linesOf(other.stderr)).toEqual([
    'error: This payload was encrypted with the key 2026-11, which is not among the keys here (other); add the line that begins with "2026-11:" to the keys (encryption.key_file or key_env), after the current one.',
  ]);
  const off = await run('job', 'list', '--config', 'plain.toml');
  expect(off).toMatchObject({ code: 1, stdout: '' });
  expect(linesOf(off.stderr)).toEqual([
    'error: This payload was encrypted with the key 2026-11, and encryption is off here; set encryption.key_file or key_env to the keys of the other processes.',
  ]);
});

it('starts nothing on an encrypted stack without its keys', async () => {
  const args = ['convert', 'budget-cuts.md', '--to', 'docx'];
  const jobs = async () => (await run('job', 'list')).stdout;
  const before = await jobs();
  const plain = await run(...args, '--config', 'plain.toml');
  expect(plain).toMatchObject({ code: 2, stdout: '' });
  expect(linesOf(plain.stderr)).toEqual([
    `error: The stack of ${cwd}/.fileconv encrypts what Temporal stores, and encryption is off here: its result could not be read. Nothing was started. Set encryption.key_file or key_env to the keys of the stack.`,
  ]);
  expect(await jobs()).toBe(before);
});

it('doctor tells whether the keys here can decrypt the jobs', async () => {
  const findingsOf = ({ stdout }: Ended) =>
    z
      .object({ findings: z.array(z.object({ part: z.string(), status: z.string(), says: z.string() })) })
      .parse(parseJson(stdout))
      .findings.filter(({ part }) => part === 'encryption' || part === 'Temporal');
  expect(findingsOf(await run('doctor', '--json'))[1]).toMatchObject({
    status: 'ok',
    says: 'on, with the key 2026-11; the newest job can be read',
  });
  expect(
    findingsOf(await runWith({ FILECONV_ENCRYPTION_KEY_FILE: 'other.keys' }, 'doctor', '--json'))[1],
  ).toMatchObject({
    status: 'broken',
    says: 'the newest job: This payload was encrypted with the key 2026-11, which is not among the keys here (other)',
  });
  expect(findingsOf(await runWith({ FILECONV_ENCRYPTION_KEY_FILE: 'no.keys' }, 'doctor', '--json'))).toMatchObject([
    {
      part: 'encryption',
      status: 'broken',
      says: expect.stringContaining('no.keys cannot be read: there is no such file') as unknown,
    },
    { part: 'Temporal', status: 'skipped' },
  ]);
});

it('a worker without the key logs the problem without a stack trace; the job continues with the next worker', async () => {
  const queue = { TEMPORAL_ADDRESS: stack.temporal.address, FILECONV_WORKER_TASK_QUEUE: 'lonely' };
  const serviceUrl = z.object({ service: z.object({ url: z.string() }) }).parse(parseJson(up.stdout())).service.url;
  const env = { ...queue, FILECONV_SERVICE_PORT: new URL(serviceUrl).port };
  const blind = startProcess(['worker'], { cwd, env: { ...env, FILECONV_ENCRYPTION_KEY_FILE: 'other.keys' } });
  await blind.until(/Worker on task queue/);
  await writeFile(path.join(cwd, 'more-cuts.md'), '# Cuts\n');
  const converting = startProcess(['convert', 'more-cuts.md', '--to', 'html'], { cwd, env });
  await blind.until(/key 2026-11, which is not among the keys here \(other\)/);
  const { stderr, stdout } = await blind.end('SIGTERM');
  expect(stdout + stderr).not.toMatch(/encryption-codec\.[jt]s/);
  const [, key = 'no key'] = (await readFile(path.join(cwd, 'other.keys'), 'utf8')).trim().split(':');
  expect(stdout + stderr).not.toContain(key);
  const seeing = startProcess(['worker'], { cwd, env });
  expect(await converting.ended).toMatchObject({ code: 0 });
  await seeing.end('SIGTERM');
});

describe('the codec server', () => {
  const browserPath = findBrowser();
  if (browserPath === undefined) {
    console.log(
      'The Temporal UI is not tested here: there is no Chromium. Install one (apt-get install chromium), or set CHROMIUM_PATH.',
    );
  }

  (browserPath === undefined ? it.skip : it)(
    'of `fileconv up` is known to its UI, which shows names again',
    async () => {
      const browser = await chromium.launch({
        executablePath: browserPath ?? '',
        args: ['--no-sandbox', '--disable-gpu'],
      });
      try {
        const page = await browser.newPage();
        for (const name of ['127.0.0.1', 'localhost']) {
          const url = stack.temporal.uiUrl.replace('127.0.0.1', name);
          await page.goto(`${url}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`);
          await page
            .getByText(/file:.*budget-cuts\.md/)
            .first()
            .waitFor();
          await page.getByText('conversion.convertFile • budget-cuts.md → html').first().waitFor();
        }
      } finally {
        await browser.close();
      }
    },
  );

  it('runs on its own, and ends on SIGTERM', async () => {
    const server = startProcess(['codec-server', '--json'], {
      cwd,
      env: { FILECONV_CODEC_PORT: '0', FILECONV_CODEC_UI_ORIGIN: 'https://temporal.example.com/namespaces' },
    });
    const { url } = z.object({ url: z.string() }).parse(await server.untilJson());
    const ask = (origin: string) =>
      fetch(`${url}/encode`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: '{"payloads":[]}',
      });
    expect((await ask('https://temporal.example.com')).status).toBe(200);
    expect((await ask(stack.temporal.uiUrl)).status).toBe(403);
    expect(await server.end('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [
      'when another program has its port',
      {},
      (): string => `Something else is listening on 127.0.0.1:${new URL(stack.codec.url).port}. Stop it`,
    ],
    [
      'without keys',
      { FILECONV_CONFIG: 'plain.toml' },
      (): string => 'There is nothing to decrypt: encryption is off.',
    ],
    [
      'with an empty token',
      { FILECONV_CODEC_TOKEN_FILE: 'plain.toml' },
      (): string => "The codec server's token: the file",
    ],
  ])('explains the problem %s', async (_what, env, problem) => {
    const ended = await runWith({ FILECONV_CODEC_PORT: new URL(stack.codec.url).port, ...env }, 'codec-server');
    expect(ended.code).not.toBe(0);
    expect(linesOf(ended.stderr)).toEqual([expect.stringContaining(problem())]);
  });
});

describe('the keys', () => {
  it.each([
    [
      'a file that is not there',
      { FILECONV_ENCRYPTION_KEY_FILE: 'no.keys' },
      /no\.keys cannot be read: there is no such file; make one: echo "/,
    ],
    ['a file without keys', { FILECONV_ENCRYPTION_KEY_FILE: 'plain.toml' }, /plain\.toml can't be used: it is empty/],
    [
      'a variable that is not set',
      { FILECONV_CONFIG: 'plain.toml', FILECONV_ENCRYPTION_KEY_ENV: 'NO_KEYS' },
      /the variable NO_KEYS is not set; export it/,
    ],
    [
      'both at once',
      { FILECONV_ENCRYPTION_KEY_ENV: 'KEYS' },
      /encryption\.key_env and encryption\.key_file both tell of the encryption keys; keep one/,
    ],
  ])('are refused in one line: %s', async (_what, env, problem) => {
    const ended = await runWith(env, 'job', 'list');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(problem)]);
  });

  it('may come from a variable; a file that others can read gives one warning', async () => {
    const keys = await readFile(path.join(cwd, 'now.keys'), 'utf8');
    const byVariable = { FILECONV_CONFIG: 'plain.toml', FILECONV_ENCRYPTION_KEY_ENV: 'KEYS', KEYS: keys };
    expect((await runWith(byVariable, 'job', 'list')).stdout).toContain('budget-cuts.md');
    await writeFile(path.join(cwd, 'open.keys'), keys);
    await chmod(path.join(cwd, 'open.keys'), 0o644);
    const ended = await runWith({ FILECONV_ENCRYPTION_KEY_FILE: 'open.keys' }, 'doctor');
    expect(linesOf(ended.stderr).filter((line) => line.includes('others can read the file'))).toEqual([
      expect.stringMatching(/The encryption keys: others can read .*open\.keys; run: chmod 600/),
    ]);
  });
});
