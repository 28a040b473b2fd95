import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3/index';
import { createLocalFiles } from '../../src/storage/local-files';
import { startS3Server } from '../../test/support/s3-server';

/** A file to a real S3 server and back through the store, against the streams of the SDK alone. */
export async function transfersOverS3(paths: { sourcePath: string; resultPath: string }) {
  const server = await startS3Server();
  const { client } = server;
  const Bucket = await server.newBucket();
  const store = createS3Files({ client });
  const local = createLocalFiles();
  const uri = `s3://${Bucket}/ours.bin`;
  return {
    transfers: {
      async 'upload ours'() {
        const source = await local.openSource(pathToFileURL(paths.sourcePath).href);
        const { size: expectedSize } = source;
        const body = source.open();
        await store.writeDestination({ uri, jobKey: 'bench', attempt: 1, body, expectedSize, onExisting: 'overwrite' });
      },
      async 'upload plain'() {
        const { size: ContentLength } = await stat(paths.sourcePath);
        const Body = createReadStream(paths.sourcePath);
        // As ours: by far the most work is to hash.
        const ChecksumAlgorithm = 'SHA256';
        await client.send(new PutObjectCommand({ Bucket, Key: 'plain.bin', Body, ContentLength, ChecksumAlgorithm }));
      },
      async 'download ours'() {
        const source = await store.openSource(uri);
        await pipeline(source.open(), createWriteStream(paths.resultPath));
      },
      async 'download plain'() {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: 'ours.bin' }));
        await pipeline(Body as Readable, createWriteStream(paths.resultPath));
      },
    },
    stop: () => server.stop(),
  };
}
