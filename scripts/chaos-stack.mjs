// The processes of a stack in a folder of its own, which can be killed one by one and are started again whenever they have gone: a `fileconv up`
// and its Temporal, or, split, each part as a process as in production.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const { Client, Connection } = require('@temporalio/client');
const { FileConversionClient } = require('../dist/index.js');
const {
  defaultCacheDir,
  freePort,
  obtainTemporalCli,
  startTemporalServer,
} = require('../packages/cli/dist/dev-server/index.js');

const main = path.resolve(import.meta.dirname, '../packages/cli/dist/main.js');
const run = promisify(execFile);
const marks = {
  up: 'main.js up',
  temporal: 'server start-dev',
  service: 'main.js service',
  worker: 'main.js worker',
  receiver: 'main.js callbacks',
};

const parts = ['service', 'callbacks', 'worker'];
const restartMs = 250;
const taskQueue = 'file-conversion';

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
  #isSplit;
  #address;
  #env = {};
  /** Of a split stack, by name. */
  #parts = new Map();
  #temporal;
  #up;
  #clients = new Map();
  #stopping = false;
  #kills = 0;

  /** `config`: text of the configuration file. */
  constructor({ config = '', isSplit = false } = {}) {
    this.#config = config;
    this.#isSplit = isSplit;
  }

  /** Resolves when everything runs, and keeps it so. */
  async start() {
    // Every process of the stack is told this file's path, and can be found by it.
    writeFileSync(this.configFile, this.#config);
    if (this.#isSplit) await this.#startParts();
    else await this.#startUp();
  }

  /** A `fileconv` command of this stack. */
  spawnCommand(args) {
    // A Temporal of whoever runs this would be used instead of the stack's own.
    const env = { ...process.env, TEMPORAL_ADDRESS: undefined, ...this.#env };
    return spawn(process.execPath, [main, ...args, '--config', this.configFile], {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async #startParts() {
    const [port, servicePort, receiverPort] = [await freePort(), await freePort(), await freePort()];
    this.#address = `127.0.0.1:${port}`;
    this.#env = {
      TEMPORAL_ADDRESS: this.#address,
      FILECONV_SERVICE_PORT: String(servicePort),
      FILECONV_CALLBACKS_PORT: String(receiverPort),
      FILECONV_CALLBACKS_EMBEDDED_BASE_URL: `http://127.0.0.1:${receiverPort}`,
    };
    await this.#keepTemporal(port);
    // Commands find the stack by it, and start none of their own while a worker is away.
    const record = {
      ...{ pid: process.pid, startedBy: 'up', since: new Date().toISOString(), taskQueue },
      temporal: { address: this.#address, namespace: 'default' },
      service: { url: `http://127.0.0.1:${servicePort}` },
    };
    writeFileSync(path.join(this.folder, '.fileconv/stack.json'), JSON.stringify(record));
    const allowing = this.spawnCommand(['config', 'allow']);
    await new Promise((resolve) => allowing.once('exit', resolve));
    for (const part of parts) this.#keepPart(part);
  }

  async #keepTemporal(port) {
    const { env } = process;
    const cliPath = await obtainTemporalCli({ env, cacheDir: defaultCacheDir(env, homedir()) });
    const state = path.join(this.folder, '.fileconv');
    mkdirSync(state, { recursive: true });
    const start = () =>
      startTemporalServer({
        ...{ cliPath, env, port, uiPort: false, dbFilename: path.join(state, 'temporal.db') },
        logFile: path.join(this.folder, 'temporal.log'),
      });
    const keep = async () => {
      for (;;) {
        await this.#temporal.exited;
        await sleep(restartMs);
        if (this.#stopping) return;
        // Killed again while it started: then it has ended again.
        this.#temporal = await start().catch(() => this.#temporal);
      }
    };
    this.#temporal = await start();
    void keep();
  }

  #keepPart(part) {
    const child = this.spawnCommand([part]);
    child.stdout.resume();
    child.stderr.resume();
    this.#parts.set(part, child);
    child.once('exit', async () => {
      await sleep(restartMs);
      if (!this.#stopping) this.#keepPart(part);
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
    return new FileConversionClient({ client, taskQueue });
  }

  /** A client of the stack's Temporal server as it is now. */
  async temporal() {
    const address = this.#address ?? (await this.#addressOfUp());
    let client = this.#clients.get(address);
    if (!client) {
      client = new Client({ connection: await Connection.connect({ address }), namespace: 'default' });
      this.#clients.set(address, client);
    }
    return client;
  }

  async #addressOfUp() {
    const record = await this.#up.ready;
    if (this.failure) throw this.failure;
    if (!record?.temporal) throw new Error('`fileconv up` is being started again');
    return record.temporal.address;
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
    const exits = [...this.#parts.values()].map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#parts.values()) child.kill('SIGTERM');
    if (this.#up) {
      await this.#up.ready;
      this.#up.child.kill('SIGINT');
      exits.push(this.#up.exited);
    }
    await Promise.race([Promise.all(exits), sleep(60_000, undefined, { ref: false })]);
    await this.#temporal?.stop();
    return (await this.processes()).map(({ role }) => role);
  }

  /** Whatever still runs. */
  async end() {
    this.#stopping = true;
    await this.kill(Object.keys(marks));
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
