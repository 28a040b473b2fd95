// A `fileconv up` in a folder of its own whose processes can be killed one by one, and which is started again whenever it is gone.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const { Client, Connection } = require('@temporalio/client');
const { FileConversionClient } = require('../dist/index.js');

const main = path.resolve(import.meta.dirname, '../packages/cli/dist/main.js');
const run = promisify(execFile);
const marks = {
  up: 'main.js up',
  temporal: 'server start-dev',
  service: 'main.js service',
  worker: 'main.js worker',
  receiver: 'main.js callbacks',
};

export const roles = ['up', 'temporal', 'service', 'worker'];
const receiverRestartMs = 250;

/** Of jobs that wait for nothing longer than a test has time for: a section of the configuration file. */
export const impatientPolicies = (onUnknownOutcome) => `[policies]
on_unknown_outcome = "${onUnknownOutcome}"
unknown_outcome_wait = "5s"
poll_after = "5s"
first_check_after = "200ms"
max_check_interval = "2s"
retry_initial_interval = "200ms"
retry_maximum_interval = "2s"
`;

export class ChaosStack {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'fileconv-chaos-')));
  configFile = path.join(this.folder, 'fileconv.toml');
  #config;
  #receiver;
  #up;
  #clients = new Map();
  #stopping = false;
  #kills = 0;

  /** `config`: text of the configuration file. */
  constructor({ config = '' } = {}) {
    this.#config = config;
  }

  /** Resolves when everything runs, and keeps it so. */
  async start() {
    // Every process of the stack is told this file's path, and can be found by it.
    writeFileSync(this.configFile, this.#config);
    await this.#startUp();
  }

  /** Runs `fileconv callbacks` as a process of its own, and again whenever it has gone. The configuration says where. */
  startReceiver() {
    const child = this.spawnCommand(['callbacks']);
    this.#receiver = child;
    child.once('exit', async () => {
      await sleep(receiverRestartMs);
      if (!this.#stopping) this.startReceiver();
    });
  }

  /** A `fileconv` command of this stack. */
  spawnCommand(args) {
    const env = { ...process.env };
    // It would be used instead of a Temporal of the stack's own.
    delete env.TEMPORAL_ADDRESS;
    return spawn(process.execPath, [main, ...args, '--config', this.configFile], {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Starts `up`, and starts it again whenever it has gone: killed itself, or ended by a part that was killed while it started. */
  async #startUp() {
    const killsBefore = this.#kills;
    const child = this.spawnCommand(['up', '--json']);
    let printed = '';
    let warned = '';
    child.stderr.on('data', (chunk) => (warned += chunk));
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const ready = new Promise((resolve) => {
      child.stdout.on('data', (chunk) => {
        printed += chunk;
        if (printed.endsWith('}\n')) resolve(JSON.parse(printed));
      });
      void exited.then(() => resolve(undefined));
    });
    this.#up = { child, ready, exited };
    void exited.then(() => {
      if (this.#stopping) return;
      if (this.#kills === killsBefore) this.failure = new Error(`\`fileconv up\` ended unasked: ${printed}${warned}`);
      else void this.#startUp();
    });
    await ready;
  }

  /** A client of the stack as it is now. */
  async client() {
    const client = await this.temporal();
    return new FileConversionClient({ client, taskQueue: (await this.#up.ready).taskQueue });
  }

  /** A client of the stack's Temporal server as it is now. */
  async temporal() {
    const record = await this.#up.ready;
    if (this.failure) throw this.failure;
    if (!record?.temporal) throw new Error('`fileconv up` is being started again');
    const { address, namespace } = record.temporal;
    let client = this.#clients.get(address);
    if (!client) {
      client = new Client({ connection: await Connection.connect({ address }), namespace });
      this.#clients.set(address, client);
    }
    return client;
  }

  async processes() {
    const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,stat=,command='], { maxBuffer: 16 * 1024 ** 2 });
    return stdout.split('\n').flatMap((line) => {
      const [, pid, state, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      if (!command?.includes(`${this.folder}/`) || state.startsWith('Z')) return [];
      const role = Object.keys(marks).find((each) => command.includes(marks[each]));
      return role ? [{ pid: Number(pid), role }] : [];
    });
  }

  /** `kill -9`, all at once; the number of processes that it met. */
  async kill(doomed) {
    const killed = await this.signal(doomed, 'SIGKILL');
    this.#kills += killed;
    return killed;
  }

  /** The number of processes that it met. */
  async signal(roles, signal) {
    let met = 0;
    for (const { pid, role } of await this.processes()) {
      if (!roles.includes(role)) continue;
      try {
        process.kill(pid, signal);
        met += 1;
      } catch {
        // It had just ended.
      }
    }
    return met;
  }

  /** Ctrl-C; what is left of the stack after that, which should be nothing. */
  async stop() {
    this.#stopping = true;
    for (const client of this.#clients.values()) await client.connection.close();
    this.#receiver?.kill('SIGTERM');
    const { child, exited, ready } = this.#up;
    await ready;
    child.kill('SIGINT');
    await Promise.race([exited, sleep(60_000, undefined, { ref: false })]);
    return (await this.processes()).map(({ role }) => role);
  }

  async remove() {
    this.#stopping = true;
    await this.kill(Object.keys(marks));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
