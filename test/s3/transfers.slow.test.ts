import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3';
import type { FileStore, WriteDestinationOptions } from '../../src/storage/file-store';
import { failureOf } from '../storage/folder';
import { clientOf, s3Secret, s3ServerOfAllTests } from '../support/s3-server';
import { until } from '../support/until';

/** Transfers in several parts, and what is left of them after an error. */

const server = s3ServerOfAllTests();
let store: FileStore;
let bucket: string;
beforeAll(() => {
  Object.assign(process.env, server.env);
  store = createS3Files({ client: server.client });
});
beforeEach(async () => (bucket = await server.newBucket()));

const large = randomBytes(12 * 1024 * 1024);
const uriOf = (key: string) => `s3://${bucket}/${key}`;
const chunksOf = (bytes: Buffer) =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_each, index) =>
    bytes.subarray(index * 65_536, (index + 1) * 65_536),
  );

function write(options: Partial<WriteDestinationOptions> = {}, through = store) {
  const body = Readable.from(chunksOf(large));
  return through.writeDestination({
    uri: uriOf('a.pdf'),
    jobKey: 'job',
    attempt: 1,
    body,
    onExisting: 'fail',
    ...options,
  });
}

const contentOf = async (key: string): Promise<Buffer> =>
  buffer((await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))).Body as Readable);

async function put(key: string, content: string | Buffer): Promise<void> {
  await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: content }));
}

async function openUploads(): Promise<string[]> {
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  return Uploads.map(({ Key = '' }) => Key).sort();
}

/** Number of parts of the open upload, including the mark. */
async function partsOf(key: string): Promise<number> {
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  const upload = Uploads.find(({ Key }) => Key === key);
  const list = new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: upload?.UploadId });
  return (await server.client.send(list)).Parts?.length ?? 0;
}

/** A transfer that is aborted after all of its bytes. */
function aborted(reason: Error) {
  const aborting = new AbortController();
  const body = thenAwait(() => {
    aborting.abort(reason);
    return new Promise(() => undefined);
  });
  return { body, signal: aborting.signal };
}

/** The bytes of `large`, after which `next` is awaited. */
const thenAwait = (next: () => Promise<unknown>) =>
  Readable.from(
    (async function* () {
      yield* chunksOf(large);
      await next();
    })(),
  );

/** Bodies of known size take one request, others are sent in parts. */
const ways = [
  ['in one request', large.length],
  ['in parts', undefined],
] as const;

it.each(ways)('a large body becomes one object, with its SHA-256: %s', async (_way, expectedSize) => {
  let mostOpen = 0;
  const stored = await write({ body: thenAwait(async () => (mostOpen = (await openUploads()).length)), expectedSize });
  const sha256 = createHash('sha256').update(large).digest('hex');
  expect(stored).toEqual({ uri: uriOf('a.pdf'), name: 'a.pdf', bytes: large.length, sha256, skipped: false });
  expect((await contentOf('a.pdf')).equals(large)).toBe(true);
  expect([mostOpen, (await openUploads()).length]).toEqual([expectedSize === undefined ? 1 : 0, 0]);
});

it.each(ways)('a large body may come a few bytes at a time: %s', async (_way, expectedSize) => {
  const pieces = Array.from({ length: Math.ceil(large.length / 3_000) }, (_each, index) =>
    large.subarray(index * 3_000, (index + 1) * 3_000),
  );
  await write({ body: Readable.from(pieces), expectedSize });
  expect((await contentOf('a.pdf')).equals(large)).toBe(true);
});

it('nothing is sent if the name is taken before a later attempt', async () => {
  await put('a.pdf', large);
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  const sent: string[] = [];
  client.middlewareStack.add((next, context) => (args) => (sent.push(String(context.commandName)), next(args)), {
    step: 'build',
  });
  await write({ expectedSize: large.length, attempt: 2 }, createS3Files({ client }));
  expect(sent).not.toContain('PutObjectCommand');
});

it.each([5, 10])('a body of exactly %i MiB is complete', async (mebibytes) => {
  const body = large.subarray(0, mebibytes * 1024 * 1024);
  await write({ body: Readable.from(chunksOf(body)), expectedSize: body.length });
  expect((await contentOf('a.pdf')).equals(body)).toBe(true);
});

it('an object that is complete but damaged is rejected', async () => {
  await put('damaged.md', large);
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  client.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args);
      const output = answer.output as { Body?: Readable };
      const body = output.Body;
      if (body instanceof Readable) {
        output.Body = Readable.from(
          (async function* () {
            yield* body;
            throw new Error(
              'Checksum mismatch: expected "a" but received "b" in response header "x-amz-checksum-sha256".',
            );
          })(),
          { objectMode: false },
        );
      }
      return answer;
    },
    { step: 'initialize' },
  );
  const reading = buffer(createS3Files({ client }).read(uriOf('damaged.md')));
  expect(await failureOf(reading)).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
});

describe.each(ways)('a name that is taken while a large body comes %s', (_way, expectedSize) => {
  const arriving = () => ({ body: thenAwait(() => put('a.pdf', 'rival')), expectedSize });

  it('is DESTINATION_EXISTS or skipped, depending on the policy, and no upload stays open', async () => {
    expect(await failureOf(write(arriving()))).toMatchObject({ code: 'DESTINATION_EXISTS', retryable: false });
    expect(await write({ ...arriving(), onExisting: 'skip' })).toMatchObject({ skipped: true, bytes: 5 });
    expect([(await contentOf('a.pdf')).toString(), await openUploads()]).toEqual(['rival', []]);
  });

  it('is retried with the next name if renaming is allowed', async () => {
    const failure = await failureOf(write({ ...arriving(), onExisting: 'rename' }));
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
    expect((await write({ expectedSize, onExisting: 'rename', attempt: 2 })).uri).toBe(uriOf('a%20(1).pdf'));
    expect([(await contentOf('a (1).pdf')).equals(large), await openUploads()]).toEqual([true, []]);
  });

  it('is replaced if that is allowed', async () => {
    await write({ ...arriving(), onExisting: 'overwrite' });
    expect((await contentOf('a.pdf')).equals(large)).toBe(true);
  });
});

describe.each(ways)('bytes that come %s', (_way, expectedSize) => {
  it.each(['fail', 'rename', 'overwrite'] as const)(
    'are recognised by a later attempt as the result of a lost one (%s)',
    async (onExisting) => {
      await put('a.pdf', large);
      const again = await write({ expectedSize, onExisting, attempt: 2 });
      expect(again).toMatchObject({ uri: uriOf('a.pdf'), skipped: false });
      expect(await openUploads()).toEqual([]);
    },
  );
});

it.each([
  ['a small body', large.subarray(0, 1_000), undefined],
  ['a large body in parts', large, undefined],
  ['a large body in one request', large, large.length],
])('a request whose answer is lost finds its own object: %s', async (_title, bytes, expectedSize) => {
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  let lost = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const answer = await next(args);
      const isFinal = ['PutObjectCommand', 'CompleteMultipartUploadCommand'].includes(String(context.commandName));
      if (!isFinal || lost > 0) return answer;
      lost += 1;
      throw Object.assign(new Error('the answer is lost'), { code: 'ECONNRESET' });
    },
    { step: 'deserialize' },
  );
  const stored = await write({ body: Readable.from(chunksOf(bytes)), expectedSize }, createS3Files({ client }));
  expect([stored.skipped, lost]).toEqual([false, 1]);
  expect((await contentOf('a.pdf')).equals(bytes)).toBe(true);
});

describe('an unfinished upload', () => {
  const broken = new Error('it broke');

  describe.each(ways)('%s', (_way, expectedSize) => {
    it.each([
      ['a body that fails', () => ({ body: thenAwait(() => Promise.reject(broken)) })],
      ['an attempt that may not commit', () => ({ mayCommit: () => Promise.reject(broken) })],
      ['a signal', () => aborted(broken)],
    ])('is aborted after %s', async (_title, options) => {
      await expect(write({ expectedSize, ...options() })).rejects.toBe(broken);
      expect([await openUploads(), (await store.look(uriOf('a.pdf'))).kind]).toEqual([[], 'none']);
    });

    it('fails soon and with only its own message if the server disappears in the middle', async () => {
      const warned = jest.spyOn(console, 'warn');
      const cutting = createServer((socket) => socket.once('data', () => setTimeout(() => socket.destroy(), 50)));
      await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve));
      const { port } = cutting.address() as AddressInfo;
      const away = createS3Files({ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' });
      const body = Readable.from(Array.from({ length: 8 }, () => large.subarray(0, 1_500_000)));
      const failure = await failureOf(write({ body, expectedSize }, away)).finally(() => cutting.close());
      expect(failure).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
      expect(warned).not.toHaveBeenCalled();
    });
  });

  it('is aborted by a signal, even in the middle of a part', async () => {
    const aborting = new AbortController();
    const writing = write({ body: thenAwait(() => new Promise(() => undefined)), signal: aborting.signal });
    await until('an upload is open', async () => (await openUploads()).length > 0);
    aborting.abort(broken);
    await expect(writing).rejects.toBe(broken);
    expect(await openUploads()).toEqual([]);
  });

  it.each([
    ['soon', true],
    ['late', false],
  ])('is aborted by a signal that comes before the server returns, %s, the id of the upload', async (_when, isSoon) => {
    const client = clientOf(server.endpoint, server.accessKey, s3Secret);
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          const result = await next(args);
          if (commandName === 'CreateMultipartUploadCommand') await held;
          return result;
        },
      { step: 'deserialize' },
    );
    const aborting = new AbortController();
    const writing = write({ signal: aborting.signal }, createS3Files({ client }));
    await until('an upload is open', async () => (await openUploads()).length > 0);
    aborting.abort(broken);
    if (isSoon) answer();
    await expect(writing).rejects.toBe(broken);
    if (isSoon) expect(await openUploads()).toEqual([]);
    answer();
    await until('it is gone', async () => (await openUploads()).length === 0);
  });

  it.each(['a.pdf', ''])('is found by the job that began it, and by no other (in %j)', async (key) => {
    const aborting = new AbortController();
    const hanging = () => ({ body: thenAwait(() => new Promise(() => undefined)), signal: aborting.signal });
    const lost = write(hanging());
    const other = write({ ...hanging(), uri: uriOf('a2.pdf'), jobKey: 'other' });
    await server.client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'a3.pdf' }));
    await until('all are under way', async () => (await openUploads()).length === 3);
    // A part that arrives after the abort would reopen the upload.
    await until('its parts have come', async () => (await partsOf('a.pdf')) === 3);
    await until('the one of the job is gone', async () => {
      await store.discardPartial({ uri: uriOf(key), jobKey: 'job' });
      return !(await openUploads()).includes('a.pdf');
    });
    expect(await openUploads()).toEqual(['a2.pdf', 'a3.pdf']);
    aborting.abort(broken);
    await Promise.allSettled([lost, other]);
    expect(await openUploads()).toEqual(['a3.pdf']);
  });

  it('is ended by a later attempt, and the earlier attempt gives up', async () => {
    let wake: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => (wake = resolve));
    const first = write({ body: thenAwait(() => asleep), onExisting: 'overwrite' });
    await until('the first attempt has begun', async () => (await openUploads()).length > 0);
    // Includes the part that marks whose upload it is.
    await until('its parts have come', async () => (await partsOf('a.pdf')) === 3);
    await write({ attempt: 2, onExisting: 'overwrite' });
    wake();
    expect(await failureOf(first)).toMatchObject({ retryable: true });
    expect([(await contentOf('a.pdf')).equals(large), await openUploads()]).toEqual([true, []]);
  });
});

it('many concurrent writes that may rename each get their own name', async () => {
  const body = () => Readable.from([Buffer.from('same')]);
  const all = await Promise.all(
    Array.from({ length: 8 }, (_each, job) => write({ jobKey: `job-${job}`, body: body(), onExisting: 'rename' })),
  );
  expect(new Set(all.map(({ uri }) => uri)).size).toBe(8);
});

it('a source that is replaced or removed during the read is never mixed', async () => {
  await put('a.md', large);
  const source = await store.openSource(uriOf('a.md'));
  await put('a.md', randomBytes(large.length));
  expect(await failureOf(buffer(source.open()))).toMatchObject({ code: 'SOURCE_CHANGED', retryable: true });
  await server.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a.md' }));
  expect(await failureOf(buffer(source.open()))).toMatchObject({ code: 'SOURCE_NOT_FOUND', retryable: false });
});

it('a walk reads all pages, but none of a folder that it does not enter', async () => {
  const skipped = path.join(server.folderOf(bucket), 'in/skipped');
  await mkdir(skipped, { recursive: true });
  for (let index = 0; index < 2_100; index += 1) await writeFile(path.join(skipped, `${index}.md`), 'x');
  const kept = ['in/a.md', 'in/skipped.md', 'in/zoo/b.md'];
  await Promise.all(kept.map((key) => put(key, 'x')));
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  let pages = 0;
  client.middlewareStack.add((next) => (args) => ((pages += 1), next(args)), { step: 'build' });
  const found = async (enters: (relative: string) => boolean) => {
    const uris: string[] = [];
    for await (const { uri } of createS3Files({ client }).walk(uriOf('in/'), { enters })) uris.push(uri);
    return uris;
  };
  expect([(await found(() => true)).length, pages]).toEqual([2_103, 3]);
  pages = 0;
  expect([await found((relative) => relative !== 'skipped'), pages]).toEqual([kept.map(uriOf), 2]);
});
