import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, mainFile, newFolder, parseJson } from './fileconv';

const line = 'init --service https://conversion.example.com --app-id c0a8f1de --token-env MY_TOKEN';
const account = line.split(' ');

async function userOf(more: Record<string, string> = {}) {
  const [cwd, home] = [await newFolder(), await newFolder()];
  return { cwd, run: (args: string[]) => fileconv(args, { cwd, env: { XDG_CONFIG_HOME: home, ...more } }) };
}

it('writes an account, which is in effect at once', async () => {
  const { cwd, run } = await userOf();
  const file = path.join(cwd, 'fileconv.toml');
  expect(await run(account)).toMatchObject({
    code: 0,
    stdout: `${file} is written. Next: export MY_TOKEN=YOUR_TOKEN, then: fileconv doctor\n`,
    stderr: '',
  });
  const shown = parseJson((await run(['config', 'show', '--json'])).stdout) as {
    values: { key: string; value: string }[];
  };
  expect(Object.fromEntries(shown.values.map(({ key, value }) => [key, value]))).toMatchObject({
    default_app: 'production',
    'apps.production.base_url': 'https://conversion.example.com',
    'apps.production.app_id': 'c0a8f1de',
    'apps.production.token': expect.stringMatching(/^\*+$/) as string,
  });
  // The file needs no `config allow`: the command goes on until it lacks the token.
  const { code, stderr } = await run(['formats']);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('MY_TOKEN') as string });
});

it('keeps an existing file, and writes no invalid one', async () => {
  const { cwd, run } = await userOf({ MY_TOKEN: 'secret' });
  for (const [wrong, says] of [
    [['--service', 'conversion'], '--service must be an http or https URL'],
    [['--service', 'https://conversion.example.com/v1/'], '--service must end before /v1'],
    [['--app-id', ' '], '--app-id must '],
    [['--app', 'a b'], "option '--app <name>' argument 'a b' is invalid. The name of an app may hold letters, digits"],
    [['--app', 'a"\n[x]'], "option '--app <name>' argument 'a\" [x]' is invalid."],
    [['--token-env', '0c0a8f1d-the-token; ls'], '--token-env must be the name of a variable'],
  ] as const) {
    const ended = await run([...account, ...wrong]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/^error: [^\n]*\n$/);
    expect(ended.stderr).toContain(`error: ${says}`);
    expect(ended.stderr).not.toContain('the-token');
    expect(await readdir(cwd)).toEqual([]);
  }
  expect((await run([...account, '--app', 'first'])).stdout).toMatch(/Next: fileconv doctor\n$/);
  const ended = await run([...account, '--app', 'second']);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: .* already exists/) as string });
  expect(await readFile(path.join(cwd, 'fileconv.toml'), 'utf8')).toContain('[apps."first"]');
});

describe('output', () => {
  it('is only errors and the --json document with --quiet', async () => {
    const { run } = await userOf();
    expect(await run(['config', 'show', '--quiet'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(parseJson((await run(['config', 'show', '-q', '--json'])).stdout)).toMatchObject({ file: null });
    expect((await run(['convert', 'missing.md', '--to', 'html', '-q'])).stderr).toMatch(/^error: /);
  });

  it('includes the causes of an error with --verbose', async () => {
    const { run } = await userOf();
    const args = ['config', 'show', '--config', 'missing.toml'];
    expect((await run(args)).stderr).not.toContain('caused by');
    expect((await run([...args, '--verbose'])).stderr).toMatch(/error: .*\nwarning: caused by: Error: ENOENT/);
  });
});

it('leaves no half file behind when the disk is full', async () => {
  const cwd = await newFolder();
  const words = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, mainFile, ...account];
  const { status, stderr } = spawnSync('bash', words, { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^error: .*fileconv.toml/) as string });
  expect(await readdir(cwd)).toEqual([]);
});
