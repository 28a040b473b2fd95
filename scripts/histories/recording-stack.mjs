// Everything that jobs need, in this process: a Temporal server, the embedded service with faults, a callback receiver and a worker.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const { Client, Connection } = require('@temporalio/client');
const { DefaultLogger, NativeConnection, Runtime } = require('@temporalio/worker');
const { FileConversionClient, FileConversionPlugin } = require('../../dist/index.js');
const { createConversionWorker } = require('../../dist/worker.js');
const { startConversionService } = require('../../packages/service/dist/index.js');
const { openAdministration } = require('../../packages/service/dist/administration.js');
const { hashToken } = require('../../packages/service/dist/accounts/account.js');
const { parseCallbackKeys } = require('../../dist/callbacks/callback-url.js');
const { createSignalJob, startCallbackReceiver } = require('../../dist/callbacks/receiver.js');
const { jobIdOf } = require('../../dist/job/job-id.js');
const {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
} = require('../../packages/cli/dist/dev-server/index.js');

const neutralFolder = '/var/lib/fileconv';
const token = 'token-of-the-recording';
const callbackKey = 'callback-key-of-the-recording-0123456789';
const pauseMs = 50;
const longestWaitMs = 60_000;

/** Pauses short enough for a recording; what they are makes no other history. */
export const quickPolicies = {
  firstCheckAfter: 50,
  maxCheckInterval: 200,
  retryInitialInterval: 100,
  retryMaximumInterval: 400,
};

/** Ports, names and folders are this machine's; the histories are told others. */
export class RecordingStack {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'fileconv-histories-')));
  #closing = [];
  #jobIds = new Map();

  /** Each path has an app of its own, with its own faults: `{ name, app, faults, callsBack }`. */
  static async start(paths) {
    const stack = new RecordingStack();
    try {
      await stack.#open(paths);
      return stack;
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  async #open(paths) {
    this.#closing.push(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }));
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    const env = process.env;
    const cliPath = await obtainTemporalCli({
      env,
      cacheDir: defaultCacheDir(env, homedir()),
      onProgress: console.log,
    });
    const server = await startTemporalServer({
      cliPath,
      env,
      uiPort: false,
    });
    this.#closing.push(() => server.stop());
    const connection = await Connection.connect({ address: server.address });
    this.#closing.push(() => connection.close());
    this.temporal = new Client({ connection, identity: 'client' });
    await this.#openService(paths);
    await this.#openWorker(paths, server.address);
    this.client = new FileConversionClient({ client: this.temporal });
  }

  async #openService(paths) {
    const apps = paths.map(({ name, app }) => ({
      name,
      appId: randomUUID(),
      tokenSha256: hashToken(`${token}-${name}`),
      callbackDomains: ['127.0.0.1'],
      privateCallbackHosts: ['127.0.0.1'],
      ...app,
    }));
    this.appIds = new Map(apps.map(({ name, appId }) => [name, appId]));
    const faults = paths.flatMap(({ name, faults: own = [] }) => own.map((fault) => ({ ...fault, app: name })));
    const dataDir = path.join(this.folder, 'service');
    this.service = await startConversionService({ dataDir, apps, faults: { faults } });
    this.#closing.push(() => this.service.close());
    this.administration = await openAdministration({ dataDir });
    this.#closing.push(() => this.administration.close());
  }

  async #openWorker(paths, address) {
    this.receiver = await startCallbackReceiver({
      keys: parseCallbackKeys(callbackKey),
      signalJob: createSignalJob(this.temporal),
    });
    this.#closing.push(() => this.receiver.close());
    const profiles = paths.map(({ name, callsBack }) => [
      name,
      {
        baseUrl: this.service.url,
        appId: this.appIds.get(name),
        token: `${token}-${name}`,
        ...(callsBack && { callbackBaseUrl: this.receiver.url }),
      },
    ]);
    const plugin = new FileConversionPlugin({ apps: Object.fromEntries(profiles), callbacks: { key: callbackKey } });
    const connection = await NativeConnection.connect({ address });
    const worker = await createConversionWorker({ connection, plugin, shutdownGraceMs: 1_000 });
    const running = worker.run();
    this.#closing.push(async () => {
      worker.shutdown();
      await running;
      await plugin.close();
      await connection.close();
    });
  }

  /** The path of a file with this text, in a folder of the path's own. */
  write(pathName, file, text = '# A report\n\nOf nothing in particular.\n') {
    const target = this.place(pathName, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return target;
  }

  place(pathName, file) {
    return path.join(this.folder, 'files', pathName, file);
  }

  /** The id of the job that makes this file. It holds a digest of the file's place, which is another in the histories. */
  jobOf(pathName, file) {
    const idIn = (folder) => jobIdOf(pathToFileURL(path.join(folder, 'files', pathName, file)).href);
    const id = idIn(this.folder);
    this.#jobIds.set(id, idIn(neutralFolder));
    return id;
  }

  /** As JSON of Temporal's own kind, which its UI and its command line show and take. */
  async historyOf(workflowId, runId) {
    return await this.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  }

  /** `[what is found, what stands in its place]`, the longest first. */
  neutralNames() {
    return [
      ...this.#jobIds,
      [this.folder, neutralFolder],
      [path.resolve(import.meta.dirname, '../..'), '/opt/fileconv'],
      [`${process.pid}@${hostname()}`, 'worker'],
    ];
  }

  async close() {
    for (const end of this.#closing.splice(0).reverse()) await end();
  }
}

/** Resolves once the condition holds. */
export async function until(what, condition) {
  const deadline = Date.now() + longestWaitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`It did not come to this: ${what}`);
    await sleep(pauseMs);
  }
}
