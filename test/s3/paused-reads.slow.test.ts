import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3';
import { clientOf, s3Secret, s3ServerOfAllTests } from '../support/s3-server';

const server = s3ServerOfAllTests();
let bucket: string;
beforeAll(async () => {
  Object.assign(process.env, server.env);
  bucket = await server.newBucket();
});

describe('an object that is read with pauses', () => {
  const requestHandler = { connectionTimeout: 10_000, socketTimeout: 300 };
  const content = randomBytes(32 * 1024 * 1024);
  const halfway = content.length / 2;
  const put = (body: Buffer) =>
    server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'paused.md', Body: body }));

  /** Reads the object, and pauses in the middle until the first connection has been cut. */
  async function readPausing(inThePause: () => Promise<unknown>): Promise<Buffer> {
    const client = clientOf(server.endpoint, server.accessKey, s3Secret, { requestHandler });
    let cut: Promise<unknown> | undefined;
    client.middlewareStack.add(
      (next) => async (args) => {
        const answer = await next(args);
        const { body } = answer.response as { body: Readable };
        cut ??= new Promise((resolve) => body.once('close', resolve));
        return answer;
      },
      { step: 'deserialize', priority: 'low' },
    );
    const chunks: Buffer[] = [];
    let [passed, isPaused] = [0, false];
    for await (const chunk of createS3Files({ client }).read(`s3://${bucket}/paused.md`) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      passed += chunk.length;
      if (isPaused || passed < halfway) continue;
      isPaused = true;
      await inThePause();
      await cut;
    }
    return Buffer.concat(chunks);
  }

  beforeEach(() => put(content));

  it('is complete', async () => expect((await readPausing(() => Promise.resolve())).equals(content)).toBe(true));

  it('is never a mixture of two contents', async () => {
    const outcome = await readPausing(() => put(randomBytes(content.length))).catch((error: unknown) => error);
    // If the connection is cut and remade before the new content exists, the second one reads the old content to its end.
    if (Buffer.isBuffer(outcome)) expect(outcome.equals(content)).toBe(true);
    else expect(outcome).toMatchObject({ code: 'SOURCE_CHANGED', retryable: true });
  });
});
