// A fleet on one machine whose members share nothing but what they reach over the network: each has a folder of its own.
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { impatientPolicies } from '../chaos-stack.mjs';
import { temporalConfig, temporalPorts } from './temporal-config.mjs';

const require = createRequire(import.meta.url);
const { Client, Connection } = require('@temporalio/client');
const run = promisify(execFile);

const main = path.resolve(import.meta.dirname, '../../packages/cli/dist/main.js');
const databaseUser = 'temporal';
const restartMs = 250;
const s3Keys = { AWS_ACCESS_KEY_ID: 'AKIDOFTHEFLEET', AWS_SECRET_ACCESS_KEY: 'only-for-this-run' };

/** PostgreSQL, Temporal, an S3 server, the embedded service, workers and callback receivers; whatever is gone is started again. */
export class Fleet {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'fileconv-fleet-')));
  #tools;
  #counts;
  #callbackKey = randomBytes(32).toString('base64');
  #ports = {};
  #members = new Map();
  #proxy;
  #client;
  #isStopping = false;

  constructor({ tools, workers, receivers }) {
    this.#tools = tools;
    this.#counts = { workers, receivers };
    // PostgreSQL refuses to run as root, and so its user must get this far.
    chmodSync(this.folder, 0o755);
  }

  /** Names of the members of a kind: `worker` gives `worker-1` and so on. */
  membersOf(kind) {
    return [...this.#members.keys()].filter((name) => name.split('-')[0] === kind);
  }

  async start() {
    const receivers = Array.from({ length: this.#counts.receivers }, (_, index) => `receiver-${index + 1}`);
    for (const name of ['postgres', 's3', 'service', 'proxy', ...receivers, ...temporalPorts])
      this.#ports[name] = await freePort();
    await this.#startPostgres();
    await this.#startTemporal();
    this.#startS3();
    await this.#untilListens('s3');
    await this.#startService();
    this.#proxy = startProxy(this.#ports.proxy, () => receivers.map((name) => this.#ports[name]));
    await this.command(['namespace', 'init'], { member: 'operator' });
    for (const name of receivers)
      this.#startOurs(name, ['callbacks'], { FILECONV_CALLBACKS_PORT: String(this.#ports[name]) });
    for (let index = 1; index <= this.#counts.workers; index += 1) this.#startOurs(`worker-${index}`, ['worker']);
  }

  /** The folder that the S3 server keeps a bucket's objects in, as files. */
  bucket(name) {
    return path.join(this.folder, 's3/data', name);
  }

  /** A `fileconv` command of somebody who shares no folder with any member. */
  async command(args, { member = 'operator' } = {}) {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: this.#homeOf(member),
      env: this.#environmentOf(member),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (printed.stdout += chunk));
    child.stderr.on('data', (chunk) => (printed.stderr += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    return { code, ...printed };
  }

  async temporal() {
    this.#client ??= new Client({ connection: await Connection.connect({ address: this.#temporalAddress }) });
    return this.#client;
  }

  /** `kill -9`. False: it was being started again at this moment. */
  kill(name) {
    return this.#members.get(name)?.child?.kill('SIGKILL') ?? false;
  }

  async stop() {
    this.#isStopping = true;
    await this.#client?.connection.close();
    this.#proxy?.close();
    const order = ['worker', 'receiver', 'service', 'temporal', 's3', 'postgres'];
    for (const kind of order) {
      const ended = this.membersOf(kind).map((name) => this.#end(name, kind === 'postgres' ? 'SIGINT' : 'SIGTERM'));
      await Promise.all(ended);
    }
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  get #temporalAddress() {
    return `127.0.0.1:${this.#ports.frontend}`;
  }

  async #startPostgres() {
    const home = this.#homeOf('postgres');
    const owner = await unprivilegedUser();
    if (owner) chownSync(home, owner.uid, owner.gid);
    const data = path.join(home, 'data');
    const program = (name) => path.join(this.#tools.postgres, name);
    await run(program('initdb'), ['-D', data, '-U', databaseUser, '-A', 'trust', '-E', 'UTF8'], {
      ...owner,
      cwd: home,
    });
    const args = ['-D', data, '-p', String(this.#ports.postgres), '-h', '127.0.0.1', '-k', home];
    this.#keep('postgres', () => spawn(program('postgres'), args, { ...owner, ...this.#logTo('postgres'), cwd: home }));
    await this.#untilListens('postgres');
    for (const [database, schema] of [
      ['temporal', 'temporal'],
      ['temporal_visibility', 'visibility'],
    ]) {
      const options = [
        '--pl',
        'postgres12',
        '--ep',
        '127.0.0.1',
        '-p',
        String(this.#ports.postgres),
        '-u',
        databaseUser,
        '--pw',
        'unused',
        '--db',
        database,
      ];
      await run(this.#tools.temporalSql, [...options, 'create-database']);
      await run(this.#tools.temporalSql, [...options, 'setup-schema', '-v', '0.0']);
      await run(this.#tools.temporalSql, [...options, 'update-schema', '--schema-name', `postgresql/v12/${schema}`]);
    }
  }

  async #startTemporal() {
    const home = this.#homeOf('temporal');
    const config = temporalConfig({ ports: this.#ports, postgresPort: this.#ports.postgres, user: databaseUser });
    writeFileSync(path.join(home, 'fleet.yaml'), JSON.stringify(config));
    writeFileSync(path.join(home, 'dynamic-config.yaml'), '{}\n');
    const args = ['--root', home, '--config', '.', '--env', 'fleet', '--allow-no-auth', 'start'];
    this.#keep('temporal', () => spawn(this.#tools.temporal, args, { ...this.#logTo('temporal'), cwd: home }));
    await this.#untilListens('frontend');
    const { workflowService } = await this.temporal();
    const days = { seconds: 3 * 24 * 3_600 };
    await repeat(() =>
      workflowService.registerNamespace({ namespace: 'default', workflowExecutionRetentionPeriod: days }),
    );
    await repeat(() => workflowService.listWorkflowExecutions({ namespace: 'default' }));
  }

  #startS3() {
    const home = this.#homeOf('s3');
    const data = path.join(home, 'data');
    for (const bucket of ['sources', 'results']) mkdirSync(path.join(data, bucket), { recursive: true });
    const env = {
      ...process.env,
      ROOT_ACCESS_KEY: s3Keys.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: s3Keys.AWS_SECRET_ACCESS_KEY,
    };
    const args = ['--port', `127.0.0.1:${this.#ports.s3}`, '--quiet', 'posix', data];
    this.#keep('s3', () => spawn(this.#tools.s3, args, { ...this.#logTo('s3'), cwd: home, env }));
  }

  async #startService() {
    const port = String(this.#ports.service);
    this.#startOurs('service', ['service'], { FILECONV_SERVICE_PORT: port });
    await this.#untilListens('service');
  }

  /** Token and key reach each member as a secret would: as files of its own. */
  #provision(name) {
    const home = this.#homeOf(name);
    const service = path.join(this.folder, 'service/.fileconv/service');
    const { appId } = JSON.parse(readFileSync(path.join(service, 'embedded-app.json'), 'utf8'));
    writeFileSync(path.join(home, 'token'), readFileSync(path.join(service, 'embedded-app.token')), { mode: 0o600 });
    writeFileSync(path.join(home, 'callback.key'), this.#callbackKey, { mode: 0o600 });
    writeFileSync(
      path.join(home, 'fileconv.toml'),
      configuration({ appId, ports: this.#ports, address: this.#temporalAddress }),
    );
  }

  #startOurs(name, args, env = {}) {
    const home = this.#homeOf(name);
    this.#keep(name, () =>
      spawn(process.execPath, [main, ...args], {
        ...this.#logTo(name),
        cwd: home,
        env: { ...this.#environmentOf(name), ...env },
      }),
    );
  }

  #environmentOf(name) {
    if (name !== 'service') this.#provision(name);
    return {
      ...process.env,
      ...s3Keys,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${this.#ports.s3}`,
    };
  }

  #homeOf(name) {
    const home = path.join(this.folder, name);
    mkdirSync(home, { recursive: true });
    return home;
  }

  #logTo(name) {
    const log = openSync(path.join(this.folder, `${name}.log`), 'a');
    return { stdio: ['ignore', log, log] };
  }

  /** Starts a member, and again whenever it is gone. */
  #keep(name, start) {
    const child = start();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    this.#members.set(name, { child, ended });
    void ended.then(async () => {
      await sleep(restartMs);
      if (!this.#isStopping) this.#keep(name, start);
    });
  }

  async #end(name, signal) {
    const { child, ended } = this.#members.get(name);
    child.kill(signal);
    const isOver = await Promise.race([ended.then(() => true), sleep(60_000, false, { ref: false })]);
    if (!isOver) child.kill('SIGKILL');
    await ended;
  }

  async #untilListens(port) {
    await repeat(
      () =>
        new Promise((resolve, reject) => {
          const socket = net.connect(this.#ports[port], '127.0.0.1');
          socket.once('connect', () => resolve(socket.destroy()));
          socket.once('error', reject);
        }),
    );
  }
}

/** So often that the last of the failures is no longer a start. */
async function repeat(attempt) {
  for (let left = 120; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(500);
    }
  }
}

/** For PostgreSQL when this process is root. */
async function unprivilegedUser() {
  if (process.getuid?.() !== 0) return {};
  const idOf = async (option) => Number((await run('id', [option, 'postgres'])).stdout);
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

/** What stands before the receivers in production. A receiver that is gone is passed over. */
function startProxy(port, targets) {
  let turn = 0;
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    const ports = targets();
    const attempt = (tries) => {
      const upstream = net.connect(ports[(turn += 1) % ports.length], '127.0.0.1');
      upstream.once('connect', () => socket.pipe(upstream).pipe(socket));
      upstream.on('error', () => (upstream.bytesRead === 0 && tries > 0 ? attempt(tries - 1) : socket.destroy()));
    };
    attempt(ports.length - 1);
  });
  server.listen(port, '127.0.0.1');
  return server;
}

function configuration({ appId, ports, address }) {
  return `default_app = "fleet"

[temporal]
address = "${address}"

[apps.fleet]
base_url = "http://127.0.0.1:${ports.service}"
app_id = "${appId}"
token_file = "token"

[callbacks]
public_base_url = "http://127.0.0.1:${ports.proxy}"
key_file = "callback.key"

${impatientPolicies('resubmit')}`;
}

/** Temporal's schema for PostgreSQL has no room for a port above 32767. */
async function freePort() {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = net.createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
