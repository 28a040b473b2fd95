import { appendFile, chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import packageJson from '../../../package.json';
import {
  commandEnv,
  commandNames,
  fileconv,
  filesBelow,
  folderWith,
  linesOf,
  mainFile,
  newFolder,
  parseJson,
  startProcess,
} from './fileconv';
import { linesToInterrupt, needsNoTemporal, needsTemporal, notInterrupted } from './lines-of-commands';

const commands = [[], ['up'], ['convert'], ['formats'], ['worker'], ['service'], ['config'], ['config', 'show']];

let folder: string;
beforeAll(async () => (folder = await newFolder()));

describe('help', () => {
  it.each(commands)('`fileconv %s %s --help` explains the command', async (...command) => {
    const ended = await fileconv([...command, '--help'], { cwd: folder });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(`Usage: ${['fileconv', ...command].join(' ')}`);
  });

  it.each(['', ...commandNames()])('`fileconv %s --help` fits a screen of 60 lines', async (name) => {
    const { stdout } = await fileconv([...name.split(' ').filter(Boolean), '--help'], { cwd: folder });
    expect(linesOf(stdout).length).toBeLessThanOrEqual(60);
  });

  it('prints the version', async () => {
    const ended = await fileconv(['--version'], { cwd: folder });
    expect(ended).toMatchObject({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });
});

it('prints one line when the current folder was removed', () => {
  const command = 'mkdir gone && cd gone && rmdir ../gone && "$0" "$1" status';
  const options = { cwd: folder, env: commandEnv(), encoding: 'utf8' } as const;
  const ended = spawnSync('bash', ['-c', command, process.execPath, mainFile], options);
  const stderr = 'error: The current folder is gone. Change to another one.\n';
  expect(ended).toMatchObject({ status: 1, stdout: '', stderr });
});

it.each([
  ['Ctrl-C', linesToInterrupt, notInterrupted],
  ['Temporal that is away', needsTemporal.map(([line]) => line), needsNoTemporal],
])('every command is tested with %s', (_what, lines, others) => {
  const covered = (name: string) => lines.some((line) => `${line} `.startsWith(`${name} `));
  expect(commandNames().filter((name) => !covered(name) && !others.test(name))).toEqual([]);
});

it.each([
  ['no name', ['--param', '=S3cret'], 'must be written as in dpi=300'],
  ['a value that is too long', ['--param', `key=S3cret${'x'.repeat(2_000)}`], 'key must be a number'],
  ['a name twice', ['--param', 'key=S3cret', '--param', 'key=S3cret2'], 'key is given twice'],
])('--param refuses %s in one line without repeating the value', async (_what, args, message) => {
  const ended = await fileconv(['convert', 'a.md', '--to', 'pdf', ...args], { cwd: folder });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(linesOf(ended.stderr)).toEqual([expect.stringContaining(message)]);
  expect(ended.stderr).not.toContain('S3cret');
});

describe('formats', () => {
  it('lists readable and writable formats without a service, and leaves no files behind', async () => {
    const ended = await fileconv(['formats'], { cwd: folder });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const lines = linesOf(ended.stdout);
    expect(lines[0]).toMatch(/^FORMAT +READS +WRITES +TITLE$/);
    expect(lines).toContainEqual(expect.stringMatching(/^docx +yes +yes +\S/));
    expect(lines).toContainEqual(expect.stringMatching(/^pdf +yes +yes +\S/));
    expect(lines).toContainEqual(expect.stringMatching(/^md-gfm +yes +yes +\S/));
    expect([lines.filter((line) => line.endsWith(' ')), await filesBelow(folder)]).toEqual([[], []]);
  });

  it('lists what one format converts to', async () => {
    const ended = await fileconv(['formats', 'docx'], { cwd: folder });
    const names = linesOf(ended.stdout).map((line) => line.split(' ')[0]);
    expect(ended.code).toBe(0);
    expect(names).toEqual(expect.arrayContaining(['FORMAT', 'pdf', 'html', 'md']));
    expect(names).not.toContain('png');
  });

  it('accepts a format in upper case or with a dot', async () => {
    const [upper, lower] = await Promise.all([
      fileconv(['formats', '.DOCX'], { cwd: folder }),
      fileconv(['formats', 'docx'], { cwd: folder }),
    ]);
    expect(upper).toMatchObject({ code: 0, stdout: lower.stdout });
  });

  it('--engines lists the engines that are installed, and how to install the others', async () => {
    const env = { FILECONV_SERVICE_ENGINES: 'typst,sharp' };
    const lines = linesOf((await fileconv(['formats', '--engines'], { cwd: folder, env })).stdout);
    expect(lines[0]).toMatch(/^ENGINE +HERE +PAIRS +WOULD ADD$/);
    expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(['typst', 'sharp']);
    expect(lines[2]).toMatch(/^sharp +sharp \d+\.\d+\.\d+.* \d+ +- +pictures/);
  });

  it('lists the valid engines when the configuration names an unknown one', async () => {
    const ended = await fileconv(['formats'], { cwd: folder, env: { FILECONV_SERVICE_ENGINES: 'pandok' } });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(
      /FILECONV_SERVICE_ENGINES \(service\.engines\) must be a list of some of libreoffice, chromium, sharp/,
    );
  });

  it.each([
    [
      ['job', 'list', '--statuss', 'x'],
      "unknown option '--statuss' (Did you mean --status?) See: fileconv job list --help",
    ],
    [['batch', 'start', 'in'], "unknown command 'start' (Did you mean run?) See: fileconv batch --help"],
    [['stop'], "unknown command 'stop' (Did you mean down?) See: fileconv --help"],
    [['convert', 'a.md', '--too', 'pdf'], "unknown option '--too' (Did you mean --to?) See: fileconv convert --help"],
    [
      ['--json', 'convert', 'a.md', '--to', 'pdf'],
      '--json stands before its command. Put it behind convert. See: fileconv convert --help',
    ],
    [['convert', 'a.md'], "required option '--to <format>' not specified. See: fileconv convert --help"],
    [['batch', 'nonsense'], "unknown command 'nonsense'. See: fileconv batch --help"],
    [['service', 'appz'], "unknown command 'appz' (Did you mean apps?) See: fileconv service --help"],
    [
      ['logs', 'nobody'],
      "'nobody' is not a valid part. Allowed choices are up, worker, service, callbacks, temporal. See: fileconv logs --help",
    ],
  ])('points to the help of the command that was typed: %j', async (args, says) => {
    expect(await fileconv(args, { cwd: folder })).toMatchObject({ code: 2, stderr: `error: ${says}\n` });
  });

  it('says that it has no help for a command that does not exist', async () => {
    const ended = await fileconv(['help', 'bach'], { cwd: folder });
    expect(ended).toMatchObject({
      code: 2,
      stderr: "error: unknown command 'bach' (Did you mean batch?) See: fileconv --help\n",
    });
  });

  it('refuses an unknown format', async () =>
    expect(await fileconv(['formats', 'nonsense'], { cwd: folder })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: The service knows no format nonsense. See: fileconv formats\n',
    }));

  it('prints one JSON document with --json', async () => {
    const [all, ofDocx] = await Promise.all([
      fileconv(['formats', '--json'], { cwd: folder }),
      fileconv(['formats', 'docx', '--json'], { cwd: folder }),
    ]);
    const format = {
      format: 'pdf',
      extension: 'pdf',
      type: null,
      name: 'Portable Document Format',
      title: expect.any(String) as unknown,
    };
    const entry: unknown = expect.objectContaining(format);
    const lists = parseJson(all.stdout) as { inputs: unknown[]; outputs: unknown[] };
    expect(Object.keys(lists)).toEqual(['inputs', 'outputs']);
    expect(lists.outputs).toContainEqual(entry);
    expect(lists.inputs).not.toContainEqual(expect.objectContaining({ format: 'tex-beamer' }));
    const some = parseJson(ofDocx.stdout) as { input: unknown; outputs: unknown[] };
    expect(some.input).toBe('docx');
    expect(some.outputs).toContainEqual(entry);
  });

  it('survives a reader that closes the pipe early', async () => {
    const { code, stderr } = await run(['-e', closedOutput(['formats', '--json'])]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('ends logs --follow when its reader has ended', async () => {
    const state = await folderWith({ 'logs/up.log': 'first\n' });
    const options = { cwd: state, env: { FILECONV_STATE_DIR: state }, timeoutMs: 20_000 };
    const follower = startProcess(['logs', 'up', '--follow'], options);
    await follower.until(/first/);
    follower.child.stdout?.destroy();
    await appendFile(path.join(state, 'logs/up.log'), 'second\n');
    expect(await follower.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('config show', () => {
  const token = 'a-secret-that-nobody-may-see';
  const env = { MINE_TOKEN: token, FILECONV_WORKER_TASK_QUEUE: 'mine' };

  it('shows every value and its origin, but no secret', async () => {
    const cwd = await newFolder();
    const file = path.join(cwd, 'fileconv.toml');
    await writeFile(
      file,
      '[service]\nport = 9000\n[apps.mine]\nbase_url = "https://example.com"\napp_id = "1"\ntoken_env = "MINE_TOKEN"\n',
    );
    const [plain, json] = await Promise.all([
      fileconv(['config', 'show'], { cwd, env }),
      fileconv(['config', 'show', '--json'], { cwd, env }),
    ]);
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    const lines = linesOf(plain.stdout).map((line) => line.split(/ {2,}/));
    expect(lines[0]).toEqual(['KEY', 'VALUE', 'FROM']);
    expect(lines).toContainEqual(['service.port', '9000', file]);
    expect(lines).toContainEqual(['worker.task_queue', 'mine', 'FILECONV_WORKER_TASK_QUEUE']);
    expect(lines).toContainEqual(['service.host', '127.0.0.1', 'default']);
    expect(lines).toContainEqual(['apps.mine.token', expect.stringMatching(/^\W+$/), 'variable MINE_TOKEN']);
    const document = parseJson(json.stdout) as { file: string; values: unknown[] };
    expect(document.file).toBe(file);
    expect(document.values).toContainEqual({ key: 'service.port', value: '9000', source: file });
    expect(plain.stdout + json.stdout).not.toContain(token);
  });

  it('warns of an unknown variable and continues', async () => {
    const ended = await fileconv(['config', 'show'], { cwd: folder, env: { FILECONV_WORKER_TASKQUEUE: 'x' } });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/^warning: FILECONV_WORKER_TASKQUEUE is ignored/);
    expect(linesOf(ended.stderr)).toHaveLength(1);
  });

  it('prints no escape codes without a terminal', async () => {
    const ended = await fileconv(['config', 'show'], { cwd: folder, env: { FILECONV_NONSENSE: 'x', TERM: 'xterm' } });
    expect(ended.stdout + ended.stderr).not.toContain('\u001b');
  });
});

it('warns of a token file that others can read, without its content', async () => {
  const cwd = await newFolder();
  const file = path.join(cwd, 'token');
  await writeFile(file, 'a-secret');
  await chmod(file, 0o644);
  await writeFile(path.join(cwd, 'a.md'), '# A');
  const ended = await fileconv(['convert', 'a.md', '--to', 'html', '--app', 'mine'], {
    cwd,
    env: {
      FILECONV_APPS_MINE_BASE_URL: 'http://127.0.0.1:1',
      FILECONV_APPS_MINE_APP_ID: '1',
      FILECONV_APPS_MINE_TOKEN_FILE: file,
    },
  });
  expect(linesOf(ended.stderr)).toEqual([
    `warning: The token of app "mine": others can read the file ${file}; run: chmod 600 '${file}'`,
    expect.stringMatching(/^error: The conversion service of app mine can't be reached/),
  ]);
});

/** Runs a script that spawns the CLI. */
function run(args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, args, { cwd: folder, env: commandEnv() });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}

/** A script that starts the CLI, closes the reading end of its stdout at once, and exits with its code. */
function closedOutput(argv: string[]): string {
  return `const child = require('node:child_process').spawn(process.execPath, ${JSON.stringify([mainFile, ...argv])}, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.destroy();
    child.once('close', (code) => (process.exitCode = code));`;
}
