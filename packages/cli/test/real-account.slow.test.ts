import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  accountApp,
  accountToken,
  type AccountService,
  startAccountService,
} from '../../../test/support/account-service';
import { endOfPng, formats, learn } from '../../../test/support/account-formats';
import { until } from '../../../test/support/until';
import { fileconv, filesBelow, linesOf, newFolder, parseJson, startProcess } from './fileconv';

/** Commands with a real account, before any charge: formats, pairs and names as its pages document them. */

let service: AccountService;
let folder: string;

beforeAll(async () => {
  service = await startAccountService();
  folder = await newFolder();
  const config = `default_app = "account"
[apps.account]
base_url = "${service.url}"
app_id = "${accountApp}"
token_env = "ACCOUNT_TOKEN"
`;
  await writeFile(path.join(folder, 'fileconv.toml'), config);
  await writeFile(path.join(folder, 'dot.png'), 'a picture');
});

afterAll(() => service.close());

const account = { ACCOUNT_TOKEN: accountToken, FILECONV_CONFIG: 'fileconv.toml' };

const run = (...args: string[]) => fileconv(args, { cwd: folder, env: account });

it('fileconv formats lists exactly the names that --to accepts', async () => {
  const listed = parseJson((await run('formats', '--json')).stdout) as { outputs: { format: string }[] };
  const names = listed.outputs.map(({ format }) => format);
  expect(names).toEqual(formats.filter(({ isOutput }) => isOutput).map(({ format }) => format));
  const shown = linesOf((await run('formats')).stdout).map((line) => line.split(' ')[0]);
  expect(shown).toEqual(expect.arrayContaining([...names, 'FORMAT']));
  expect(shown).not.toContain('txt-markdown-markdown');
  const source: Record<string, string> = { image: 'gif', document: 'docx' };
  for (const { format, kind } of formats.filter(({ isOutput }) => isOutput)) {
    const input = source[kind] === format ? (kind === 'image' ? 'png' : 'md') : source[kind];
    await writeFile(path.join(folder, `there.${input ?? ''}`), 'x');
    await writeFile(path.join(folder, `there.${format.split('-')[0] ?? ''}`), 'x');
    // Only the existing destination is refused, so the format was accepted.
    const ended = await run('convert', `there.${input ?? ''}`, '--to', format);
    expect([format, ended.stderr]).toEqual([format, expect.stringContaining('already exists')]);
  }
  expect(service.count('upload/file')).toBe(0);
});

it.each([['--dry-run'], ['--recursive']])(
  'refuses a batch in which nothing can be converted, also with %s',
  async (flag) => {
    const ended = await run('batch', 'run', 'dot.png', '--to', 'docx', '--out', 'out', flag);
    expect(ended.stderr).toContain(
      "1 file of format png can't be converted: the service does not convert png to docx.",
    );
    expect(ended.code).toBe(2);
    const misspelt = await run('batch', 'run', 'dot.png', '--to', 'wepb', '--out', 'out', flag);
    expect(linesOf(misspelt.stderr).at(-1)).toBe(
      "error: 1 file of format png can't be converted: the service knows no format wepb. Did you mean webp? See: fileconv formats",
    );
    expect([misspelt.code, service.count('upload/file')]).toEqual([2, 0]);
    expect(existsSync(path.join(folder, '.fileconv/batches/dot-docx'))).toBe(false);
  },
);

interface Report {
  counts: Record<string, number>;
  failures: { items: object[] }[];
  files: { csv: string };
}

describe('a batch of 4 files, one of which the service cannot convert', () => {
  const batch = (...args: string[]) => run('batch', ...args, '--json');
  const counted = () => ['upload/file', 'convert/file', 'convert/graph'].map((path) => service.count(path));
  const message = 'The service does not convert md to webp. See what it converts md to: fileconv formats md';

  beforeAll(async () => {
    await mkdir(path.join(folder, 'mixed'));
    for (const name of ['a.png', 'b.md', 'c.jpg', 'd.gif']) await writeFile(path.join(folder, 'mixed', name), endOfPng);
  });

  it('uploads and converts three; the fourth is a failed row with a refusal code, no charge and no job', async () => {
    const before = counted();
    const dry = await batch('run', 'mixed', '--to', 'webp', '--out', 'webp', '--dry-run');
    expect(parseJson(dry.stdout)).toMatchObject({
      todo: 3,
      refused: [{ input: 'md', output: 'webp', rows: 1, refusal: { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message } }],
    });
    const ended = await batch('run', 'mixed', '--to', 'webp', '--out', 'webp', '--name', 'mixed', '--stop-after', '1');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(
      "warning: 1 file of format md can't be converted, and will fail without being uploaded",
    );
    expect(counted()).toEqual([3, 3, 8].map((more, index) => (before[index] ?? 0) + more));
    const { counts, failures, files } = parseJson(ended.stdout) as Report;
    expect(counts).toMatchObject({ items: 4, succeeded: 3, failed: 1, cancelled: 0 });
    expect(failures).toMatchObject([
      {
        code: 'NO_CONVERTER_INPUT_TO_OUTPUT',
        count: 1,
        advice: 'Choose another target format; `fileconv formats` shows which go together.',
        items: [{ item: 2, message, charge: 'no' }],
      },
    ]);
    expect(failures[0]?.items[0]).not.toHaveProperty('workflowId');
    expect(await readFile(files.csv, 'utf8')).toContain(`,NO_CONVERTER_INPUT_TO_OUTPUT,${message},`);
    expect(await filesBelow(path.join(folder, 'webp'))).toEqual(['a.webp', 'c.webp', 'd.webp']);
  });

  it('asks the service again on a retry, because it may support the format by now', async () => {
    const before = counted();
    const still = await batch('retry', 'mixed');
    expect(still.stderr).toContain("1 file of format md can't be converted, and will fail without being uploaded");
    expect(still.code).toBe(1);
    learn('md', 'webp');
    const ended = await batch('retry', 'mixed');
    expect((parseJson(ended.stdout) as Report).counts).toMatchObject({ succeeded: 1, skipped: 3, failed: 0 });
    expect(ended.code).toBe(0);
    expect(counted()).toEqual([1, 1, 2].map((more, index) => (before[index] ?? 0) + more));
  });
});

it('does not treat the name of a format as an extension: files whose format has no extension are sent', async () => {
  await mkdir(path.join(folder, 'endings'));
  for (const name of ['a.png', 'b.jpeg']) await writeFile(path.join(folder, 'endings', name), endOfPng);
  const dry = await run('batch', 'run', 'endings', '--to', 'webp', '--out', 'out', '--dry-run', '--json');
  expect(parseJson(dry.stdout)).toMatchObject({ todo: 2, refused: [], warnings: { count: 0 } });
});

it('a command that joined a batch converts files added since, and reports on all files', async () => {
  await mkdir(path.join(folder, 'grows'));
  for (let n = 0; n < 30; n += 1) await writeFile(path.join(folder, 'grows', `${n}.png`), endOfPng);
  const start = (...args: string[]) => startProcess(args, { cwd: folder, env: account });
  // Both commands need a common stack to join: otherwise the second would wait for the stack of the first.
  const stack = start('up', '--json');
  await stack.untilJson();
  const args = ['batch', 'run', 'grows', '--to', 'gif', '--out', 'gif', '--name', 'grows', '--window', '1'];
  const before = service.count('convert/file');
  const release = service.holdConversions();
  try {
    const first = start(...args);
    await until('the first job was submitted', () => service.count('convert/file') > before);
    await writeFile(path.join(folder, 'grows', 'late.md'), '# Late');
    const joined = start(...args);
    await joined.until(/Batch grows is already running, /);
    release();
    expect((await first.ended).code).toBe(0);
    const { code, stdout, stderr } = await joined.ended;
    expect(linesOf(stdout)[0]).toBe('1 of 31 files failed. 30 skipped: their results already exist.');
    expect(stderr).toMatch(/^warning: 1 file of format md can't be converted, and will fail/m);
    expect([code, service.count('convert/file') - before]).toEqual([1, 30]);
  } finally {
    release();
    await stack.end();
  }
});

it('a dry run works without the service, and says in one line what it could not check', async () => {
  const env = { ...account, FILECONV_APPS_ACCOUNT_BASE_URL: 'http://127.0.0.1:9' };
  const ended = await fileconv(['batch', 'run', 'dot.png', '--to', 'webp', '--dry-run'], { cwd: folder, env });
  expect(linesOf(ended.stderr)).toEqual([
    expect.stringMatching(/^warning: The formats could not be checked beforehand: .*can't be reached/),
  ]);
  expect(ended.code).toBe(0);
});
