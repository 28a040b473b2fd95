import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { stubAppId, stubToken } from './stub-service';
import { until } from './until';

const builtMain = path.resolve(__dirname, '../../packages/cli/dist/main.js');
const run = promisify(execFile);

export const stackRoles = ['up', 'temporal'] as const;
export type StackRole = (typeof stackRoles)[number];

/** What `fileconv up --json` prints. */
export interface StackRecord {
  pid: number;
  temporal: { address: string; namespace: string };
  service: { url: string };
  taskQueue: string;
}

/** How a command of `fileconv` ended. */
export interface CommandOutcome {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A folder in which `fileconv` (`npm run build`) runs, and whatever processes it has started there. */
export class StackFolder {
  private constructor(
    readonly path: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  /** App profiles by their base URLs; `embedded` is there without being named. */
  static async create(apps: Readonly<Record<string, string>> = {}, token = stubToken): Promise<StackFolder> {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'fileconv-stack-')));
    const profiles = Object.entries(apps).map(
      ([name, url]) =>
        `[apps.${name}]\nbase_url = ${JSON.stringify(url)}\napp_id = ${JSON.stringify(stubAppId)}\ntoken_env = "STACK_TEST_TOKEN"\n`,
    );
    // Every process of the stack is told this file's path, and can be found by it.
    await writeFile(path.join(folder, 'fileconv.toml'), profiles.join('\n'));
    return new StackFolder(folder, { STACK_TEST_TOKEN: token });
  }

  /** Resolves when everything runs. */
  async up(): Promise<StackProcess> {
    const child = this.spawn(['up', '--json']);
    let output = '';
    let errors = '';
    const record = new Promise<StackRecord>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (!output.endsWith('}\n')) return;
        const printed = JSON.parse(output) as StackRecord | { error: { message: string } };
        if ('error' in printed) reject(new Error(printed.error.message));
        else resolve(printed);
      });
      child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      child.once('exit', (code) => reject(new Error(`\`fileconv up\` ended (${code ?? 'by a signal'}): ${errors}`)));
    });
    return new StackProcess(child, await record, () => output + errors);
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandOutcome> {
    const child = this.spawn(args, env);
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [exitCode] = (await once(child, 'close')) as [number | null];
    return { exitCode, stdout, stderr };
  }

  /** Starts a command and does not wait for it. */
  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const { ...inherited } = process.env;
    // It would be used instead of a Temporal of the stack's own.
    delete inherited['TEMPORAL_ADDRESS'];
    return spawn(process.execPath, [builtMain, ...args, '--config', path.join(this.path, 'fileconv.toml')], {
      cwd: this.path,
      env: { ...inherited, ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** The processes of this folder's stack that are alive. */
  async processes(): Promise<{ pid: number; role: StackRole }[]> {
    const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,stat=,command='], { maxBuffer: 16 * 1024 ** 2 });
    return stdout.split('\n').flatMap((line) => {
      const [, pid, state, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      if (pid === undefined || !command?.includes(`${this.path}/`) || state?.startsWith('Z')) return [];
      const role = stackRoles.find((each) =>
        command.includes(each === 'temporal' ? 'server start-dev' : `main.js ${each}`),
      );
      return role ? [{ pid: Number(pid), role }] : [];
    });
  }

  async roles(): Promise<StackRole[]> {
    const running = (await this.processes()).map(({ role }) => role);
    return running.sort((a, b) => stackRoles.indexOf(a) - stackRoles.indexOf(b));
  }

  /** `kill -9` of the processes with these roles, all at once; waits until they have gone. */
  async kill(...roles: readonly StackRole[]): Promise<void> {
    const doomed = (await this.processes()).filter(({ role }) => roles.includes(role));
    for (const { pid } of doomed) process.kill(pid, 'SIGKILL');
    const pids = doomed.map(({ pid }) => pid);
    await until('the killed processes have gone', async () =>
      (await this.processes()).every(({ pid }) => !pids.includes(pid)),
    );
  }

  async remove(): Promise<void> {
    await this.kill(...stackRoles);
    await rm(this.path, { recursive: true, force: true });
  }
}

/** A `fileconv up` that runs. */
export class StackProcess {
  constructor(
    private readonly child: ChildProcess,
    readonly record: StackRecord,
    private readonly printed: () => string,
  ) {}

  /** What it has printed so far. */
  get output(): string {
    return this.printed();
  }

  /** Ctrl-C; resolves with the exit code. */
  async interrupt(): Promise<number | null> {
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill('SIGINT');
    const [exitCode] = await exited;
    return exitCode;
  }

  /** Uses a client of this stack for as long as `use` takes. */
  async withClient<T>(use: (client: FileConversionClient, temporal: Client) => Promise<T>): Promise<T> {
    const { temporal, taskQueue } = this.record;
    const connection = await Connection.connect({ address: temporal.address });
    try {
      const client = new Client({ connection, namespace: temporal.namespace });
      return await use(new FileConversionClient({ client, taskQueue }), client);
    } finally {
      await connection.close();
    }
  }
}
