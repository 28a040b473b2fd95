import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { buildCommands } from '../src/command-tree';
import { createOutput } from '../src/output/output';
import { runCommandLine } from '../src/program';

/** The built CLI; `npm test` builds it first. */
export const mainFile = path.resolve(__dirname, '../dist/main.js');

export interface CommandOptions {
  cwd: string;
  env?: Readonly<Record<string, string | undefined>>;
  timeoutMs?: number;
  /** Content of standard input; default: closed. */
  input?: string | Buffer;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  /** Without everyday waits; `RunningCommand.stderr()` includes them. */
  stderr: string;
}

export interface RunningCommand {
  /** Rejects on timeout. */
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** Resolves when stdout or stderr matches; rejects if the command ends first. */
  until(pattern: RegExp): Promise<void>;
  /** The document that `--json` prints, once it is complete. */
  untilJson(): Promise<unknown>;
  /** Sends a signal; default: SIGINT, as Ctrl-C does. */
  interrupt(signal?: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<Ended>;
}

export interface RunningProcess extends RunningCommand {
  readonly child: ChildProcess;
}

const isRoot = process.getuid?.() === 0;
const setpriv = ['setpriv', '--inh-caps=-all', '--bounding-set=-all'];

/** False if the commands of these tests run as root with its capabilities, and so ignore file permissions. */
export const permissionsHold = !isRoot || spawnSync(setpriv[0] ?? '', [...setpriv.slice(1), 'true']).status === 0;

/** The environment of every command: without the developer's Temporal and fileconv settings, and with a quick first poll. */
export function commandEnv(extra: CommandOptions['env'] = {}): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(TEMPORAL_|FILECONV_|NO_COLOR$|FORCE_COLOR$)/.test(name) || name === 'TEMPORAL_CLI_PATH',
  );
  const own = { XDG_CONFIG_HOME: path.join(tmpdir(), 'config'), FILECONV_POLICIES_FIRST_CHECK_AFTER: '50 ms' };
  return { ...Object.fromEntries(inherited), ...own, ...extra };
}

/**
 * Starts a command in this process, with streams and signals of the test. Use `startProcess` for a command that must be killed, needs a
 * terminal or serves others (`up`, `service`, `worker`).
 */
export function startFileconv(args: readonly string[], options: CommandOptions): RunningCommand {
  const { texts, ...host } = hostOf(options);
  const ended = runCommandLine(args, host).then((code) => ({ code, signal: null }));
  return watched(args, options, { texts, ended, interrupt: (signal) => void host.process.emit(signal) });
}

/** Stands in for the process of a command, and records its output. */
export function hostOf({ cwd, env: extra, input }: Omit<CommandOptions, 'timeoutMs'>) {
  const texts = { stdout: '', stderr: '' };
  const into = (name: 'stdout' | 'stderr') =>
    new Writable({
      decodeStrings: false,
      write(chunk: string | Buffer, _encoding, written) {
        texts[name] += chunk.toString();
        written();
      },
    });
  const env = commandEnv(extra);
  return {
    cwd,
    env,
    homeDir: env['HOME'] ?? homedir(),
    stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
    stdout: into('stdout'),
    stderr: into('stderr'),
    process: Object.assign(new EventEmitter(), { exit: () => undefined }),
    texts,
  };
}

/** Starts a command as a child process, for which file permissions hold. */
export function startProcess(args: readonly string[], options: CommandOptions): RunningProcess {
  const command = [...(isRoot && permissionsHold ? setpriv : []), process.execPath, mainFile, ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: options.cwd,
    env: commandEnv(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command may end before it has read all its input.
  child.stdin.on('error', () => undefined).end(options.input);
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text));
  const ended = new Promise<Pick<Ended, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const interrupt = (signal: NodeJS.Signals) => void child.kill(signal);
  return { child, ...watched(args, options, { texts, ended, interrupt, onLate: () => child.kill('SIGKILL') }) };
}

interface Started {
  texts: { stdout: string; stderr: string };
  ended: Promise<Pick<Ended, 'code' | 'signal'>>;
  interrupt: (signal: NodeJS.Signals) => void;
  onLate?: () => void;
}

function watched(
  args: readonly string[],
  { timeoutMs = 280_000 }: CommandOptions,
  { texts, ended, interrupt, onLate }: Started,
): RunningCommand {
  const command = `fileconv ${args.join(' ')}`;
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  const late = new AbortController();
  const inTime = Promise.race([
    over.then((how) => ({ ...how, ...texts, stderr: withoutEverydayWaits(texts.stderr) })),
    sleep(timeoutMs, undefined, { signal: late.signal, ref: false }).then(() => {
      onLate?.();
      throw new Error(`${command} had not ended after ${timeoutMs} ms:\n${texts.stderr}`);
    }),
  ]).finally(() => late.abort());
  // A test may leave a command running and never await its end.
  inTime.catch(() => undefined);
  async function untilTrue(isTrue: () => boolean, what: string): Promise<void> {
    while (!isTrue()) {
      if (isOver) throw new Error(`${command} ended without ${what}:\n${texts.stderr}`);
      await sleep(20);
    }
  }
  return {
    ended: inTime,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    until: (pattern) => untilTrue(() => pattern.test(texts.stdout) || pattern.test(texts.stderr), String(pattern)),
    async untilJson() {
      await untilTrue(() => /^\}$/m.test(texts.stdout), 'JSON');
      return parseJson(texts.stdout);
    },
    interrupt: (signal = 'SIGINT') => interrupt(signal),
    end(signal = 'SIGINT') {
      interrupt(signal);
      return inTime;
    },
  };
}

const everydayWait =
  /^.* (?:is waiting|has been waiting since [\d: ()A-Z-]+) for (?:the service to finish the conversion|the service's callback|the callback that says whether|the attempt under way|the worker of the stack|a worker that (?:is free|takes it|can run it)).*\n/gm;

/** Removes lines about waiting: on a busy machine, even a healthy command prints them for a job that stands still for 8 s. */
export function withoutEverydayWaits(stderr: string): string {
  return stderr.replace(everydayWait, '');
}

/** Runs `fileconv` to its end in this process. */
export const fileconv = (args: readonly string[], options: CommandOptions): Promise<Ended> =>
  startFileconv(args, options).ended;

/** Runs `fileconv` to its end as a child process. */
export const fileconvProcess = (args: readonly string[], options: CommandOptions): Promise<Ended> =>
  startProcess(args, options).ended;

/** A new folder; the end of the test run removes it. */
export const newFolder = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'fileconv cli-'));

/** A new folder with these files, by relative path. */
export async function folderWith(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await newFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return folder;
}

/** Relative paths of all files and folders below a folder, except the state of a stack. */
export const filesBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith('.fileconv')).sort();

export function parseJson(text: string): unknown {
  return JSON.parse(text);
}

/** The lines that are not empty. */
export const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** The full name of every command, such as `batch run`. */
export function commandNames(): string[] {
  const stream = { write: () => true };
  const output = createOutput({ stdout: stream, stderr: stream, env: {}, json: false });
  const leaves = ({ commands }: Pick<Command, 'commands'>): string[] =>
    commands.flatMap((each) =>
      each.commands.length === 0 ? [each.name()] : leaves(each).map((name) => `${each.name()} ${name}`),
    );
  return leaves(buildCommands(output, () => Promise.resolve()));
}
