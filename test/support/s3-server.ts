import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, mkdir, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CreateBucketCommand, ListBucketsCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { defaultCacheDir, freePort, tryProcessLock } from '../../packages/cli/src/dev-server';
import { whileTesting } from './while-testing';

const run = promisify(execFile);

/** versitygw, a third-party server with the S3 API that stores objects as files. Go builds it once. */
const version = 'v1.8.0';
const accessKeyId = 'AKIDFORTESTS';
/** Tests check that it is written down nowhere. */
export const s3Secret = 'a-secret-that-is-in-no-log-and-no-history';

const gateway = path.join(
  defaultCacheDir(process.env, os.homedir()),
  `versitygw-${version}-${process.platform}-${process.arch}`,
);

export interface S3Server {
  readonly endpoint: string;
  readonly accessKey: string;
  /** Has administrator rights. */
  readonly client: S3Client;
  /** The environment of a process that uses this server. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates an empty bucket. */
  newBucket(): Promise<string>;
  /** The folder that contains the objects of a bucket as files. */
  folderOf(bucket: string): string;
  /** Removes a bucket with its contents behind the server's back. */
  removeBucket(bucket: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  await obtainGateway();
  const root = await mkdtemp(path.join(os.tmpdir(), 'fileconv-s3-'));
  const data = path.join(root, 'data');
  await mkdir(data);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { AWS_ENDPOINT_URL_S3: endpoint, AWS_REGION: 'us-east-1', ...credentialsOf(accessKeyId, s3Secret) };
  const server = spawn(gateway, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', data], {
    cwd: root,
    env: { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: s3Secret },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  const client = clientOf(endpoint, accessKeyId, s3Secret);
  await untilAnswers(client, server, () => told);
  let buckets = 0;
  return {
    endpoint,
    accessKey: accessKeyId,
    client,
    env,
    async newBucket() {
      buckets += 1;
      const bucket = `bucket-${buckets}`;
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return bucket;
    },
    folderOf: (bucket) => path.join(data, bucket),
    removeBucket: (bucket) => rm(path.join(data, bucket), { recursive: true, maxRetries: 9 }),
    async stop() {
      client.destroy();
      const ended = new Promise((resolve) => server.once('close', resolve));
      server.kill('SIGKILL');
      await ended;
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** One server for all tests of the file or `describe` that calls this. */
export const s3ServerOfAllTests = (): S3Server =>
  whileTesting(startS3Server, (server) => server.stop(), { before: beforeAll, after: afterAll });

export function clientOf(endpoint: string, accessKey: string, secret: string, more: S3ClientConfig = {}): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secret },
    ...more,
  });
}

function credentialsOf(accessKey: string, secret: string) {
  return { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secret };
}

/** Builds the server if it is not cached, which takes minutes on a busy machine. Other test files wait for the lock. */
async function obtainGateway(): Promise<void> {
  let lock: Awaited<ReturnType<typeof tryProcessLock>>;
  while (!(lock = await tryProcessLock(`${gateway}.lock`))) await sleep(50);
  try {
    if (!existsSync(gateway)) await build();
  } finally {
    lock.release();
  }
}

async function build(): Promise<void> {
  const folder = await mkdtemp(path.join(path.dirname(gateway), '.versitygw-'));
  try {
    const env = { ...process.env, GOBIN: folder, GOFLAGS: '-modcacherw' };
    await run('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${version}`], { env });
    await rename(path.join(folder, 'versitygw'), gateway);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function untilAnswers(client: S3Client, server: ChildProcess, told: () => string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`The S3 server ended: ${told()}`);
    try {
      await client.send(new ListBucketsCommand({}));
      return;
    } catch {
      await sleep(50);
    }
  }
}
