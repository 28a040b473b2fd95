import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { startProcess, type Ended, type RunningProcess } from '../../packages/cli/test/fileconv';
import { recordOf, type StackRecord } from '../../packages/cli/test/running-stack';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { stubAppId, stubToken } from './stub-service';
import { until } from './until';

const run = promisify(execFile);

export const stackRoles = ['up', 'temporal'] as const;
export type StackRole = (typeof stackRoles)[number];

/** A folder in which `fileconv` (`npm run build`) runs, with the processes that it has started there. */
export class StackFolder {
  private constructor(
    readonly path: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  /** App profiles by name, with their base URLs. `embedded` always exists. */
  static async create(apps: Readonly<Record<string, string>> = {}, token = stubToken): Promise<StackFolder> {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'fileconv-stack-')));
    const profiles = Object.entries(apps).map(
      ([name, url]) =>
        `[apps.${name}]\nbase_url = ${JSON.stringify(url)}\napp_id = ${JSON.stringify(stubAppId)}\ntoken_env = "STACK_TEST_TOKEN"\n`,
    );
    // Every process of the stack has this file's path in its arguments, and can be found by it.
    await writeFile(path.join(folder, 'fileconv.toml'), profiles.join('\n'));
    return new StackFolder(folder, { STACK_TEST_TOKEN: token });
  }

  /** Resolves when everything is running. */
  async up(): Promise<StackProcess> {
    const child = this.#start(['up', '--json'], {}, 1_800_000);
    return new StackProcess(child, recordOf(await child.untilJson()));
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const command = this.#start(args, env);
    return { ...(await command.ended), stderr: command.stderr() };
  }

  #start(args: readonly string[], env: Readonly<Record<string, string>>, timeoutMs = 280_000): RunningProcess {
    const config = ['--config', path.join(this.path, 'fileconv.toml')];
    return startProcess([...args, ...config], { cwd: this.path, env: { ...this.env, ...env }, timeoutMs });
  }

  /** The live processes of this folder's stack. */
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

  /** `kill -9` of all processes with these roles; waits until they are gone. */
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

/** A running `fileconv up`. */
export class StackProcess {
  constructor(
    private readonly child: RunningProcess,
    readonly record: StackRecord,
  ) {}

  get output(): string {
    return this.child.stdout() + this.child.stderr();
  }

  /** Ctrl-C. Returns the exit code. */
  async interrupt(): Promise<number | null> {
    this.child.interrupt();
    return (await this.child.ended).code;
  }

  /** Passes a client of this stack to `use`, and closes it afterwards. */
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
