// One attempt of a batch's activity, which kills its own process (`kill -9`) before its n-th change to files or objects; needs `dist`.
import fs from 'node:fs';
import { S3Client } from '@aws-sdk/client-s3';
import { asyncLocalStorage, Context } from '@temporalio/activity';
import { createActivities } from '../../dist/activities/index.js';
import { createS3Files } from '../../dist/s3/index.js';
import { createLocalFiles } from '../../dist/storage/local-files.js';
import { Stores } from '../../dist/storage/stores.js';

const { activity, input, killAt } = JSON.parse(process.argv[2]);
let operations = 0;
function count(object, names, changesSomething = () => true) {
  for (const name of names) {
    const own = object[name];
    object[name] = function (...args) {
      if (changesSomething(...args)) operations += 1;
      if (operations === killAt) process.kill(process.pid, 'SIGKILL');
      return own.apply(this, args);
    };
  }
}
const handle = await fs.promises.open(import.meta.filename);
count(Object.getPrototypeOf(handle), ['sync']);
await handle.close();
count(fs.promises, ['open'], (_file, flags) => flags === 'wx');
count(fs.promises, ['mkdir', 'unlink']);
count(fs, ['openSync'], (_file, flags) => flags === 'wx');
count(fs, ['linkSync', 'renameSync', 'unlinkSync']);
// An upload in parts that was begun and not marked yet can't be found: docs/operations/object-stores.md, "Clean up".
const isMark = ({ input }) => input.PartNumber === 10_000;
count(S3Client.prototype, ['send'], (each) => !/^(Get|Head|List)/.test(each.constructor.name) && !isMark(each));

const files = new Stores({
  file: createLocalFiles(),
  s3: createS3Files({ endpoint: process.env.AWS_ENDPOINT_URL_S3 }),
});
const client = { options: { loadedDataConverter: { payloadCodecs: [] } }, withAbortSignal: (_signal, call) => call() };
// As the SDK's own environment for tests makes it, which takes half a second to load.
const workflowExecution = { workflowId: 'test', runId: '00000000-0000-0000-0000-000000000000' };
const info = { activityId: 'test', attempt: 1, heartbeatTimeoutMs: 10_000, inWorkflow: true, workflowExecution };
const uncancelled = [new Promise(() => undefined), new globalThis.AbortController().signal];
const context = new Context(info, ...uncancelled, () => undefined, client, console);
await asyncLocalStorage.run(context, () => createActivities({ files })[activity](input));
process.exit();
