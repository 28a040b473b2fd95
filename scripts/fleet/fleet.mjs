// A fleet on one machine whose members share nothing but what they reach over the network: each has a folder of its own.
import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
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
import { ending } from '../play.mjs';
import { createNetwork } from './network.mjs';
import { temporalConfig, temporalPorts } from './temporal-config.mjs';

const require = createRequire(import.meta.url);
const { Client, Connection } = require('@temporalio/client');
// Below 32768: Temporal's schema for PostgreSQL has no room for others.
const { freePort } = require('../../packages/cli/dist/dev-server/index.js');
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
  #network = createNetwork(this.folder);
  #callbackKey = randomBytes(32).toString('base64');
  #app = { id: randomUUID(), token: randomBytes(32).toString('base64') };
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
    const targets = receivers.map((name) => ({ name, host: this.#network.addressOf(name), port: this.#ports[name] }));
    this.#proxy = startProxy({ host: this.#network.address, port: this.#ports.proxy }, targets);
    await this.command(['namespace', 'init']);
    for (const { name, host, port } of targets) {
      this.#startOurs(name, ['callbacks'], { FILECONV_CALLBACKS_HOST: host, FILECONV_CALLBACKS_PORT: String(port) });
    }
    for (let index = 1; index <= this.#counts.workers; index += 1) this.#startOurs(`worker-${index}`, ['worker']);
  }

  /** The folder that the S3 server keeps a bucket's objects in, as files. */
  bucket(name) {
    return path.join(this.folder, 's3/data', name);
  }

  /** A `fileconv` command of somebody who shares no folder with any member. */
  command(args) {
    const child = this.#network.spawn('operator', this.#ours('operator', args), {
      cwd: this.#homeOf('operator'),
      env: this.#environmentOf('operator'),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return ending(child);
  }

  async temporal() {
    this.#client ??= new Client({
      connection: await Connection.connect({ address: this.#at('temporal', 'frontend') }),
    });
    return this.#client;
  }

  /** `kill -9`. False: it was being started again at this moment. */
  kill(name) {
    return this.#members.get(name)?.child?.kill('SIGKILL') ?? false;
  }

  /** What is left after that: nothing. */
  async stop() {
    await this.end();
    return [];
  }

  async end() {
    if (this.#isStopping) return;
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

  /** Host and port. */
  #at(member, port = member) {
    return `${this.#network.addressOf(member)}:${this.#ports[port]}`;
  }

  async #startPostgres() {
    const home = this.#homeOf('postgres');
    const user = await unprivilegedUser();
    if (user) chownSync(home, user.uid, user.gid);
    const host = this.#network.addressOf('postgres');
    const data = path.join(home, 'data');
    const program = (name) => path.join(this.#tools.postgres, name);
    await run(program('initdb'), ['-D', data, '-U', databaseUser, '-A', 'trust', '-E', 'UTF8'], {
      ...user,
      cwd: home,
    });
    appendFileSync(path.join(data, 'pg_hba.conf'), `host all all ${this.#network.range} trust\n`);
    const args = ['-D', data, '-p', String(this.#ports.postgres), '-h', host, '-k', home];
    this.#keep('postgres', [program('postgres'), ...args], { user });
    await this.#untilListens('postgres');
    for (const [database, schema] of [
      ['temporal', 'temporal'],
      ['temporal_visibility', 'visibility'],
    ]) {
      const options = [
        '--pl',
        'postgres12',
        '--ep',
        host,
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
    const host = this.#network.addressOf('temporal');
    const config = temporalConfig({ host, ports: this.#ports, postgres: this.#at('postgres'), user: databaseUser });
    writeFileSync(path.join(home, 'fleet.yaml'), JSON.stringify(config));
    writeFileSync(path.join(home, 'dynamic-config.yaml'), '{}\n');
    const args = ['--root', home, '--config', '.', '--env', 'fleet', '--allow-no-auth', 'start'];
    this.#keep('temporal', [this.#tools.temporal, ...args]);
    await this.#untilListens('temporal', 'frontend');
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
    this.#keep('s3', [this.#tools.s3, '--port', this.#at('s3'), '--quiet', 'posix', data], { env });
  }

  async #startService() {
    const accounts = path.join(this.#homeOf('service'), 'accounts.toml');
    writeFileSync(accounts, accountsOf(this.#app, this.#network.address), { mode: 0o600 });
    this.#startOurs('service', ['service'], {
      FILECONV_SERVICE_HOST: this.#network.addressOf('service'),
      FILECONV_SERVICE_PORT: String(this.#ports.service),
      FILECONV_SERVICE_ACCOUNTS_FILE: accounts,
      ...(this.#network.isIsolated && { FILECONV_SERVICE_ALLOW_REMOTE: 'on' }),
    });
    await this.#untilListens('service');
  }

  /** Token and key reach each member as a secret would: as files of its own. */
  #provision(name) {
    const home = this.#homeOf(name);
    writeFileSync(path.join(home, 'token'), this.#app.token, { mode: 0o600 });
    writeFileSync(path.join(home, 'callback.key'), this.#callbackKey, { mode: 0o600 });
    const [temporal, service] = [this.#at('temporal', 'frontend'), this.#at('service')];
    const proxy = `${this.#network.address}:${this.#ports.proxy}`;
    writeFileSync(path.join(home, 'fileconv.toml'), configuration({ appId: this.#app.id, temporal, service, proxy }));
  }

  #startOurs(name, args, env = {}) {
    this.#keep(name, this.#ours(name, args), { env: { ...this.#environmentOf(name), ...env } });
  }

  /** A configuration that is only found sends no token to another machine. */
  #ours(name, args) {
    const config = name === 'service' ? [] : ['--config', path.join(this.#homeOf(name), 'fileconv.toml')];
    return [process.execPath, main, ...args, ...config];
  }

  #environmentOf(name) {
    if (name !== 'service') this.#provision(name);
    return {
      ...process.env,
      ...s3Keys,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_S3: `http://${this.#at('s3')}`,
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
  #keep(name, command, options = {}) {
    const child = this.#network.spawn(name, command, { ...this.#logTo(name), cwd: this.#homeOf(name), ...options });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    this.#members.set(name, { child, ended });
    void ended.then(async () => {
      await sleep(restartMs);
      if (!this.#isStopping) this.#keep(name, command, options);
    });
  }

  async #end(name, signal) {
    const { child, ended } = this.#members.get(name);
    child.kill(signal);
    const isOver = await Promise.race([ended.then(() => true), sleep(60_000, false, { ref: false })]);
    if (!isOver) child.kill('SIGKILL');
    await ended;
  }

  async #untilListens(member, port = member) {
    await repeat(
      () =>
        new Promise((resolve, reject) => {
          const socket = net.connect(this.#ports[port], this.#network.addressOf(member));
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
  if (process.getuid?.() !== 0) return undefined;
  const idOf = async (option) => Number((await run('id', [option, 'postgres'])).stdout);
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

/** What stands before the receivers in production. A receiver that is gone is passed over. */
function startProxy({ host, port }, targets) {
  let turn = 0;
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    const attempt = (tries) => {
      const upstream = net.connect(targets[(turn += 1) % targets.length]);
      upstream.once('connect', () => socket.pipe(upstream).pipe(socket));
      upstream.on('error', () => (upstream.bytesRead === 0 && tries > 0 ? attempt(tries - 1) : socket.destroy()));
    };
    attempt(targets.length - 1);
  });
  server.listen(port, host);
  return server;
}

/** The app that the members use, as on Kubernetes: the service may call back where it says. */
function accountsOf({ id, token }, callbackHost) {
  return `[apps.fleet]
app_id = "${id}"
token_sha256 = "${createHash('sha256').update(token).digest('hex')}"
callback_domains = ["${callbackHost}"]
private_callback_hosts = ["${callbackHost}"]
`;
}

function configuration({ appId, temporal, service, proxy }) {
  return `default_app = "fleet"

[temporal]
address = "${temporal}"

[apps.fleet]
base_url = "http://${service}"
app_id = "${appId}"
token_file = "token"

[callbacks]
public_base_url = "http://${proxy}"
key_file = "callback.key"

${impatientPolicies('resubmit')}`;
}
