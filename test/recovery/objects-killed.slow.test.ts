import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, HeadObjectCommand, ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { sha256 } from '../storage/folder';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfAllTests } from '../support/killable-workers';
import { s3ServerOfAllTests } from '../support/s3-server';

/**
 * A worker is killed with `kill -9` at a random moment of a job that reads a large object and writes another, round after round.
 * `OBJECT_KILLS=20 OBJECT_MEGABYTES=200 npx jest test/recovery/objects-killed` does it at length.
 */

const rounds = Number(process.env['OBJECT_KILLS'] ?? 3);
const bytes = Number(process.env['OBJECT_MEGABYTES'] ?? 40) * 1_000_000;

describe('a worker that is killed while it reads and writes objects', () => {
  const server = s3ServerOfAllTests();
  const workers = workersOfAllTests();
  let bucket: string;

  function start(key: string) {
    workers.stub.conversions.clear();
    const [source, destination] = [`s3://${bucket}/in.md`, `s3://${bucket}/${key}`];
    return workers.client.start({ source, output: 'pdf', destination, policies: quickPolicies });
  }

  /** The sizes that the object was ever seen to have, until the job is over. */
  async function watch(key: string, over: Promise<unknown>): Promise<Set<number>> {
    const sizes = new Set<number>();
    const ended = new AbortController();
    const end = () => ended.abort();
    over.then(end, end);
    while (!ended.signal.aborted) {
      const seen = await server.client.send(new HeadObjectCommand({ Bucket: bucket, Key: key })).catch(() => undefined);
      if (seen) sizes.add(seen.ContentLength ?? -1);
      await sleep(20);
    }
    return sizes;
  }

  it(
    'leaves nothing but the whole object, by one conversion, in every round',
    async () => {
      const { stub } = workers;
      const startWorker = () => workers.startWorker({ env: server.env });
      stub.output = Buffer.concat([Buffer.from('PK'), randomBytes(bytes - 2)]);
      bucket = await server.newBucket();
      await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'in.md', Body: randomBytes(bytes) }));
      let worker = await startWorker();
      const startedAt = Date.now();
      await (await start('clean.pdf')).result();
      const cleanMs = Date.now() - startedAt;
      for (let round = 1; round <= rounds; round += 1) {
        const key = `out-${round}.pdf`;
        const killAfterMs = randomInt(cleanMs);
        const handle = await start(key);
        const over = handle.result();
        const watching = watch(key, over);
        await sleep(killAfterMs);
        await worker.kill();
        worker = await startWorker();
        const { output, possiblyChargedTwice } = await over;
        const told = `round ${round}, killed after ${killAfterMs} of ${cleanMs} ms`;
        expect([told, [...(await watching)].filter((size) => size !== bytes)]).toEqual([told, []]);
        expect([told, output?.sha256, await sha256Of(key)]).toEqual([
          told,
          ...Array<string>(2).fill(sha256(stub.output)),
        ]);
        expect([told, await openUploads()]).toEqual([told, []]);
        // A submit that was under way is told, also where the service has not seen it yet.
        expect([told, stub.conversions.size <= (possiblyChargedTwice ? 2 : 1)]).toEqual([told, true]);
      }
    },
    60_000 + rounds * 60_000,
  );

  async function sha256Of(key: string): Promise<string> {
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    const hash = createHash('sha256');
    for await (const chunk of Body as Readable) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  async function openUploads(): Promise<string[]> {
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    return Uploads.map(({ Key = '' }) => Key);
  }
});
