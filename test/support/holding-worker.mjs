// The process behind WorkerProcess's option `hold`: a worker on the built package whose file store hangs at a chosen moment. The app
// profile of a job selects the moment. Destinations are named after their profile, so that the file store can tell whose they are.
import { NativeConnection } from '@temporalio/worker';
import storage from '../../dist/storage/local-files.js';
import { createConversionWorker, FileConversionPlugin } from '../../dist/worker.js';
import { link } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const { taskQueue, apps, appId, token, callbacks, hold } = JSON.parse(process.env.HOLDING_WORKER);

function holdAt(app) {
  process.send({ held: app });
  return new Promise(() => undefined);
}

const appOf = (uri) => path.parse(fileURLToPath(uri)).name;
const isHeldAt = (uri, point) => hold[appOf(uri)] === point;
/** How often each destination was prepared: first by the upload, then by every attempt of the submit. */
const prepared = new Map();

const local = storage.createLocalFiles();
const localWithHeldLink = storage.createLocalFiles({
  async link(from, to) {
    await link(from, to);
    await holdAt(path.parse(to).name);
  },
});

const files = {
  ...local,
  async prepareDestination(options) {
    const count = (prepared.get(options.uri) ?? 0) + 1;
    prepared.set(options.uri, count);
    const { uri } = options;
    if (isHeldAt(uri, 'beforeFence') && count === 2) await holdAt(appOf(uri));
    if (isHeldAt(uri, 'beforeSecondFence') && count === 3) await holdAt(appOf(uri));
    return local.prepareDestination(options);
  },
  async writeDestination(options) {
    if (isHeldAt(options.uri, 'betweenNames')) return localWithHeldLink.writeDestination(options);
    const stored = await local.writeDestination(options);
    if (isHeldAt(options.uri, 'afterCommit')) await holdAt(appOf(options.uri));
    return stored;
  },
};

const plugin = new FileConversionPlugin({
  apps: Object.fromEntries(Object.entries(apps).map(([name, baseUrl]) => [name, { baseUrl, appId, token }])),
  stores: { file: files },
  ...(callbacks && { callbacks }),
});
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await createConversionWorker({ connection, plugin, taskQueue });
const running = worker.run();
process.send('ready');
process.once('disconnect', () => process.exit());
await running;
