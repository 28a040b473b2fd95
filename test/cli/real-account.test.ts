import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { accountApp, accountToken, type AccountService, startAccountService } from '../support/account-service';
import { formats } from '../support/account-formats';
import { fileconv, linesOf, newFolder, parseJson, removeFolders } from './fileconv';

/** What commands make of a real account, before anything costs: formats, pairs and names as its pages tell them. */

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

afterAll(async () => {
  await service.close();
  await removeFolders();
});

const run = (...args: string[]) => fileconv(args, { cwd: folder, env: { ACCOUNT_TOKEN: accountToken } });

it.each([
  ['a target that the service does not know', 'nosuch', 'The service knows no format nosuch.'],
  ['a target for which is_match is false', 'docx', 'the service does not convert png to docx'],
])('%s ends with 2, and nothing is uploaded', async (_what, to, message) => {
  const ended = await run('convert', 'dot.png', '--to', to);
  expect(ended.stderr).toContain(message);
  expect(ended.code).toBe(2);
  expect([service.count('upload/file'), service.count('convert/file')]).toEqual([0, 0]);
});

it('a misspelt target is told with the closest that there is', async () => {
  expect((await run('convert', 'dot.png', '--to', 'wepb')).stderr).toContain('Did you mean webp?');
});

it('fileconv formats lists the names that --to takes, all of them', async () => {
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
    // Everything is in order but the destination, which is there already: the format was taken.
    const ended = await run('convert', `there.${input ?? ''}`, '--to', format);
    expect([format, ended.stderr]).toEqual([format, expect.stringContaining('exists already')]);
  }
  expect(service.count('upload/file')).toBe(0);
});

it('the dry run of 10,000 files of 6 kinds asks once for each pair, and lists what cannot convert', async () => {
  const kinds = ['png', 'jpg', 'gif', 'svg', 'md', 'docx'];
  await mkdir(path.join(folder, 'many'));
  for (let n = 0; n < 10_000; n += 1) {
    writeFileSync(path.join(folder, 'many', `${n}.${kinds[n % kinds.length] ?? ''}`), 'x');
  }
  const before = service.questions();
  const ended = await run('batch', 'run', 'many', '--to', 'webp', '--out', 'out', '--dry-run');
  expect(service.questions() - before).toBe(6);
  expect(linesOf(ended.stderr)).toEqual([
    "warning: 1,666 files of format md can't be converted, and will fail: the service does not convert md to webp. See what it converts md to: fileconv formats md",
    "warning: 1,666 files of format docx can't be converted, and will fail: the service does not convert docx to webp. See what it converts docx to: fileconv formats docx",
  ]);
  expect(ended.stdout).toContain('10,000 files to convert');
  expect(ended.code).toBe(0);
});

it.each([['--dry-run'], ['--recursive']])(
  'a batch of which nothing converts is refused, also with %s',
  async (flag) => {
    const ended = await run('batch', 'run', 'dot.png', '--to', 'docx', '--out', 'out', flag);
    expect(ended.stderr).toContain(
      "1 file of format png can't be converted: the service does not convert png to docx.",
    );
    expect(ended.code).toBe(2);
    const misspelt = await run('batch', 'run', 'dot.png', '--to', 'wepb', '--out', 'out', flag);
    expect(misspelt.stderr).toBe(
      "error: 1 file of format png can't be converted: the service knows no format wepb. Did you mean webp? See: fileconv formats\n",
    );
    expect([misspelt.code, service.count('upload/file')]).toEqual([2, 0]);
    expect(existsSync(path.join(folder, '.fileconv/batches/dot-docx'))).toBe(false);
  },
);

it('a dry run needs no service: what could not be asked is said in one line', async () => {
  const env = { ACCOUNT_TOKEN: accountToken, FILECONV_APPS_ACCOUNT_BASE_URL: 'http://127.0.0.1:9' };
  const ended = await fileconv(['batch', 'run', 'dot.png', '--to', 'webp', '--dry-run'], { cwd: folder, env });
  expect(linesOf(ended.stderr)).toEqual([
    expect.stringMatching(/^warning: The formats could not be checked beforehand: .*can't be reached/),
  ]);
  expect(ended.code).toBe(0);
});

it('service check passes, and every request says which client it comes from', async () => {
  const ended = await run('service', 'check', '--app', 'account');
  expect(linesOf(ended.stdout).filter((line) => line.startsWith('fail'))).toEqual([]);
  expect(ended.code).toBe(0);
  expect(linesOf(ended.stdout)).toContainEqual(
    expect.stringMatching(/^pass +page: convert\/graph +convert\/graph tells/),
  );
  expect([...service.userAgents]).toContainEqual(expect.stringMatching(/^temporal-file-conversion\/\d/));
});
