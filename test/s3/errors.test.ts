import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { ListMultipartUploadsCommand, ListPartsCommand, type S3Client } from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3';
import type { FileStore } from '../../src/storage/file-store';
import type { StorageError } from '../../src/storage/errors';
import { cleanUp, failureOf, onCleanUp } from '../storage/folder';
import { clientOf, s3Secret, s3ServerOfAllTests } from '../support/s3-server';
import { until } from '../support/until';

/** Errors are one line with advice, have the right code, and contain no secret. */

const server = s3ServerOfAllTests();
let bucket: string;
beforeAll(async () => (bucket = await server.newBucket()));
afterEach(cleanUp);

const small = () => Readable.from([Buffer.from('content')]);
const steps = {
  read: (store: FileStore, uri: string) => store.openSource(uri),
  plan: (store: FileStore, uri: string) => store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail' }),
  write: (store: FileStore, uri: string) =>
    store.writeDestination({ uri, jobKey: 'job', attempt: 1, body: small(), onExisting: 'fail' }),
  discard: (store: FileStore, uri: string) => store.discardPartial({ uri, jobKey: 'job' }),
};

function expectClear(failure: StorageError, words: RegExp): void {
  expect(failure.message).toMatch(/^Cannot (read|write) s3:\/\/[^\n]+\.$/);
  expect(failure.message).toMatch(words);
  expect(inspect(failure, { depth: 9 })).not.toContain(s3Secret);
}

/** All requests share one error handling, which distinguishes only reads and writes. */
describe.each(['read', 'write'] as const)('%s', (step) => {
  const act = steps[step];
  const forGood = step === 'read' ? 'SOURCE_UNREADABLE' : 'DESTINATION_NOT_WRITABLE';

  const isNoUrl = /the endpoint is not an http: or https: URL\. Correct AWS_ENDPOINT_URL_S3/;
  const isRefused = /does not accept the credentials\. Correct them/;

  it.each<[string, () => S3Client, RegExp]>([
    ['a wrong secret', () => clientOf(server.endpoint, server.accessKey, `${s3Secret}x`), isRefused],
    ['an unknown key', () => clientOf(server.endpoint, 'AKIDUNKNOWN', s3Secret), isRefused],
    ['an endpoint without a scheme', () => clientOf('127.0.0.1:9000', 'AKID', s3Secret), isNoUrl],
    ['an endpoint that is no URL', () => clientOf('nonsense', 'AKID', s3Secret), isNoUrl],
    [
      'a region that is none',
      () => clientOf(server.endpoint, 'AKID', s3Secret, { region: 'a b' }),
      /no region is set, or none that can be.*Set AWS_REGION/,
    ],
  ])('%s', async (_title, clientFor, words) => {
    const failure = await failureOf(act(createS3Files({ client: clientFor() }), `s3://${bucket}/a.md`));
    expect(failure).toMatchObject({ code: forGood, retryable: false });
    expectClear(failure, words);
  });

  const noRegion = { AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined, AWS_PROFILE: undefined };
  const nobody = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_PROFILE: undefined };
  it.each([
    [
      'nobody’s credentials',
      { ...nobody, AWS_EC2_METADATA_DISABLED: 'true', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' },
      'us-east-1',
      /there are no credentials.*AWS_ACCESS_KEY_ID/,
    ],
    ['no region', { ...noRegion, AWS_CONFIG_FILE: '/dev/null' }, '', /no region is set.*Set AWS_REGION/],
  ])('%s', async (_title, environment, region, words) => {
    withEnvironment({ ...server.env, ...environment });
    const failure = await failureOf(act(createS3Files({ endpoint: server.endpoint, region }), `s3://${bucket}/a.md`));
    expect(failure).toMatchObject({ code: forGood, retryable: false });
    expectClear(failure, words);
  });

  it.each([
    ['RequestTimeTooSkewed', 403, 'STORAGE_FAILED', true, /clock of this machine.*Set it/],
    ['ExpiredToken', 400, 'STORAGE_FAILED', true, /have expired. Renew/],
    ['PermanentRedirect', 301, forGood, false, /another region.*Set the region/],
    ['SlowDown', 503, 'STORAGE_FAILED', true, /fewer requests/],
    ['InternalError', 500, 'STORAGE_FAILED', true, /InternalError/],
    ['RequestTimeout', 400, 'STORAGE_FAILED', true, /the bytes stopped coming/],
    ['OperationAborted', 409, 'STORAGE_FAILED', true, /another request writes/],
    ['KMS.ThrottlingException', 400, 'STORAGE_FAILED', true, /fewer requests/],
  ])('a server that answers %s', async (name, status, code, retryable, words) => {
    const { port } = await answering(status, (method) =>
      method === 'HEAD' ? '' : `<Error><Code>${name}</Code><Message>It says so</Message></Error>`,
    );
    const client = clientOf(`http://127.0.0.1:${port}`, 'AKID', s3Secret, { maxAttempts: 1 });
    const failure = await failureOf(act(createS3Files({ client }), `s3://${bucket}/a.md`));
    expect(failure).toMatchObject({ code, retryable });
    expectClear(failure, words);
  });

  it.each([
    [
      'is not there',
      () => Promise.resolve(1),
      /no connection to the server.*endpoint \(AWS_ENDPOINT_URL_S3.*\(connect ECONNREFUSED 127\.0\.0\.1:1\)/,
    ],
    [
      'takes the connection and says nothing',
      listeningInSilence,
      /does not answer in time.*endpoint \(AWS_ENDPOINT_URL_S3/,
    ],
  ])('a server that %s', async (_title, portOf, words) => {
    const requestHandler = { connectionTimeout: 1_000, socketTimeout: 200 };
    const client = clientOf(`http://127.0.0.1:${await portOf()}`, 'AKID', s3Secret, { maxAttempts: 1, requestHandler });
    const failure = await failureOf(act(createS3Files({ client }), `s3://${bucket}/a.md`));
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
    expectClear(failure, words);
  });
});

describe.each(Object.entries(steps))('%s', (step, act) => {
  it('reports a missing bucket, and missing permissions', async () => {
    const client = clientOf(server.endpoint, server.accessKey, s3Secret);
    const absent = await failureOf(act(createS3Files({ client }), 's3://no-such-bucket/a.md'));
    expect(absent).toMatchObject({
      code: step === 'read' ? 'SOURCE_NOT_FOUND' : 'DESTINATION_NOT_WRITABLE',
      retryable: false,
    });
    expectClear(absent, /no-such-bucket.*no such bucket/);
    client.config.signer = () => Promise.resolve({ sign: (request) => Promise.resolve(request) });
    const forbidden = await failureOf(act(createS3Files({ client }), `s3://${bucket}/a.md`));
    expect(forbidden).toMatchObject({
      code: step === 'read' ? 'SOURCE_UNREADABLE' : 'DESTINATION_NOT_WRITABLE',
      retryable: false,
    });
    expectClear(forbidden, /may not do it\. Allow s3:/);
  });

  it.each([
    's3://',
    's3:///a.md',
    's3://bucket/a%.md',
    's3://bucket/a.md?version=1',
    `s3://AKID:${s3Secret}@bucket/a.md`,
  ])('%s is not an object', async (uri) => {
    const failure = await failureOf(act(createS3Files({ client: server.client }), uri));
    expect(failure).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
    expect(inspect(failure, { depth: 9 })).not.toContain(s3Secret);
  });
});

it.each([
  [
    'a web page',
    200,
    '<html><link></head></html>',
    /what answers is not an S3 server\. See that it runs, and that the endpoint/,
  ],
  ['nothing it knows', 404, '', /what answers is not an S3 server/],
  ['two lines', 500, '<Error><Code>Oops</Code><Message>one\nsecond</Message></Error>', /Oops: one\.$/],
])('another server, which answers a listing with %s', async (_what, status, body, words) => {
  const { port } = await answering(status, () => body);
  const client = clientOf(`http://127.0.0.1:${port}`, 'AKID', s3Secret, { maxAttempts: 1 });
  const failure = await failureOf(createS3Files({ client }).walk('s3://bucket/')[Symbol.asyncIterator]().next());
  expect(failure).toMatchObject({ code: 'STORAGE_FAILED' });
  expectClear(failure, words);
});

it('missing permission to see taken names is reported before a result needs the next free name', async () => {
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  const store = createS3Files({ client });
  const prepare = () =>
    store.prepareDestination({ uri: `s3://${bucket}/free.pdf`, suggestedName: '', onExisting: 'rename' });
  expect(await prepare()).toEqual({ kind: 'write', uri: `s3://${bucket}/free.pdf` });
  // The worker's permission to write there is already cached.
  client.config.signer = () => Promise.resolve({ sign: (request) => Promise.resolve(request) });
  const failure = await failureOf(prepare());
  expect(failure).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
  expectClear(failure, /may not do it\. Allow s3:GetObject and s3:ListBucket/);
});

it("a wrong clock is reported once, and the next attempt uses the server's clock", async () => {
  const client = clientOf(server.endpoint, server.accessKey, s3Secret, { systemClockOffset: -3_600_000 });
  const store = createS3Files({ client });
  const failure = await failureOf(steps.write(store, `s3://${bucket}/skewed.pdf`));
  expect(failure).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
  expectClear(failure, /clock of this machine/);
  await steps.write(store, `s3://${bucket}/skewed.pdf`);
});

/** Starts a server that always gives this answer. */
async function answering(status: number, bodyOf: (method: string | undefined) => string): Promise<AddressInfo> {
  const failing = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/xml' }).end(bodyOf(request.method));
    });
  });
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  onCleanUp(() => failing.close().closeAllConnections());
  return failing.address() as AddressInfo;
}

/** Sets variables for one test. Undefined: unset. */
function withEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  const before = { ...process.env };
  Object.assign(process.env, values);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
  }
  onCleanUp(() => void (process.env = before));
}

/** Starts a silent TCP server. Returns its port. */
async function listeningInSilence(): Promise<number> {
  const sockets = new Set<Socket>();
  const silent = createTcpServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onCleanUp(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  return (silent.address() as AddressInfo).port;
}

async function isPartThere(place: { Bucket: string; Key: string }): Promise<boolean> {
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: place.Bucket }));
  const UploadId = Uploads[0]?.UploadId;
  if (UploadId === undefined) return false;
  const { Parts = [] } = await server.client.send(new ListPartsCommand({ ...place, UploadId }));
  return Parts.some(({ PartNumber }) => PartNumber === 1);
}

it('a bucket that disappears in the middle of a write, or before a read, is reported', async () => {
  const leaving = await server.newBucket();
  const store = createS3Files({ client: server.client });
  await steps.write(store, `s3://${leaving}/a.md`);
  const source = await store.openSource(`s3://${leaving}/a.md`);
  const body = Readable.from(
    (async function* () {
      yield Buffer.alloc(6 * 1024 * 1024);
      // Removing the folder during the write of a part causes an error that only this server has.
      await until('the first part is there', () => isPartThere({ Bucket: leaving, Key: 'b.md' }));
      await server.removeBucket(leaving);
      yield Buffer.alloc(6 * 1024 * 1024);
    })(),
  );
  const uri = `s3://${leaving}/b.md`;
  const failure = await failureOf(store.writeDestination({ uri, jobKey: 'job', attempt: 1, body, onExisting: 'fail' }));
  expect(failure).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
  expectClear(failure, /no such bucket/);
  expect(await failureOf(buffer(source.open()))).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
});

it('an object that may not be deleted is named, and stays when it is moved', async () => {
  const client = clientOf(server.endpoint, server.accessKey, s3Secret);
  const denied = Object.assign(new Error('Access Denied'), {
    name: 'AccessDenied',
    $metadata: { httpStatusCode: 403 },
  });
  client.middlewareStack.add((next) => (args) => ('IfMatch' in args.input ? Promise.reject(denied) : next(args)));
  const store = createS3Files({ client });
  const uri = `s3://${bucket}/denied/a.md`;
  await steps.write(store, uri);
  const found = await store.look(uri);
  const stamp = found.kind === 'file' ? found.stamp : '';
  const moving = async () => store.move?.({ uri, to: `s3://${bucket}/done/a.md`, stamp });
  expectClear(await failureOf(moving()), /^Cannot write .*\/denied\/a\.md: .* s3:DeleteObject too .* for hot folders/);
  expect(await store.look(uri)).toMatchObject({ kind: 'file' });
});
