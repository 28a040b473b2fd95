import { existsSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { GetObjectCommand, paginateListObjectsV2, PutObjectCommand } from '@aws-sdk/client-s3';
import { formatCount } from '../../../src/shared/wording';
import { startS3Server, type S3Server } from '../../../test/support/s3-server';
import { countConvertRequests } from './batch-pictures';
import { fileconvProcess as fileconv, linesOf, newFolder, removeFolders } from './fileconv';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

/** A hundred here; FILECONV_TEST_ITEMS=5000 is the long form. */
const total = Number(process.env['FILECONV_TEST_ITEMS'] ?? 100);
jest.setTimeout(120_000 + total * 1_200);

let server: S3Server;
let stack: RunningStack;
beforeAll(async () => {
  server = await startS3Server();
  stack = await startStack(server.env);
}, 600_000);
afterAll(async () => {
  await stack.stop();
  await server.stop();
  await removeFolders();
});

function put(bucket: string, key: string, mark = ''): Promise<unknown> {
  const Body = Buffer.concat([noisyPng(8), Buffer.from(`${key}${mark}`)]);
  return server.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body }));
}

async function keysOf(bucket: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2(
    { client: server.client },
    { Bucket: bucket, Prefix: prefix },
  )) {
    keys.push(...Contents.map(({ Key = '' }) => Key));
  }
  return keys;
}

async function textOf(bucket: string, key: string): Promise<string> {
  const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  return text(Body as Readable);
}

it('a batch from bucket to bucket keeps its manifest, results and report there, and again it converts only what has changed', async () => {
  const [source, out] = [await server.newBucket(), await server.newBucket()];
  const name = (n: number) => `month=${n % 12}/picture ${String(n).padStart(4, '0')}.png`;
  for (let n = 1; n <= total; n += 1) await put(source, name(n));
  const cwd = await newFolder();
  const options = { cwd, env: { ...stack.env, ...server.env }, timeoutMs: 60_000 + total * 1_000 };
  const run = (...more: string[]) =>
    fileconv(
      [
        'batch',
        'run',
        `s3://${source}/`,
        '--recursive',
        '--to',
        'gif',
        '--out',
        `s3://${out}/`,
        '--name',
        'year',
        ...more,
      ],
      options,
    );

  const first = await run();
  expect(first).toMatchObject({ code: 0 });
  const runs = `.fileconv/batches/year/run-0001/`;
  expect(linesOf(first.stdout)).toEqual([
    `All ${formatCount(total)} files are converted.`,
    expect.stringMatching(/^Took /) as string,
    `Report: s3://${out}/${runs}report.html`,
    `Every file: s3://${out}/${runs}report.csv`,
  ]);
  expect(await keysOf(out, 'month=')).toHaveLength(total);
  expect(
    (await keysOf(out, runs)).filter((key) => !key.includes('/parts/')).map((key) => key.slice(runs.length)),
  ).toEqual(['manifest.jsonl', 'report.csv', 'report.html', 'report.json', 'results.jsonl']);
  expect(linesOf(await textOf(out, `${runs}results.jsonl`))).toHaveLength(total);
  expect(existsSync(path.join(stack.stateDir, 'batches'))).toBe(false);

  const before = await countConvertRequests(options);
  const again = await run();
  expect(again).toMatchObject({
    code: 0,
    stdout: `Batch year: nothing to do, ${formatCount(total)} files done before.\n`,
  });
  for (const n of [3, 5, 8]) await put(source, name(n), 'changed');
  await put(source, name(13));
  const third = await run();
  expect(linesOf(third.stdout)[0]).toBe(
    `All ${formatCount(total)} files are done. 3 converted; ${formatCount(total - 3)} skipped: their results are there already.`,
  );
  expect(await countConvertRequests(options)).toBe(before + 3);
  const retried = await fileconv(['batch', 'retry', 'year'], { ...options, cwd: await newFolder() });
  expect(retried.stdout).toBe(`Batch year: nothing to do, ${formatCount(total)} files done before.\n`);
});

it('a bucket that there is not is one line that says what to do', async () => {
  const bucket = await server.newBucket();
  await put(bucket, 'a.png');
  const options = { cwd: await newFolder(), env: { ...stack.env, ...server.env } };
  for (const [from, out] of [
    ['s3://nowhere/', 's3://nowhere/out/'],
    ['s3://nowhere/', `s3://${bucket}/`],
    [`s3://${bucket}/`, 's3://nowhere/'],
  ] as const) {
    const ended = await fileconv(['batch', 'run', from, '--to', 'gif', '--out', out], options);
    expect(ended.code).toBe(3);
    expect(linesOf(ended.stderr).at(-1)).toMatch(
      /^error: .*s3:\/\/nowhere\/.*: there is no such bucket\. Check its name/,
    );
  }
});
