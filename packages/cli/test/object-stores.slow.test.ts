import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  GetObjectCommand,
  ListObjectsV2Command,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { z } from 'zod';
import { s3Secret, s3ServerOfAllTests } from '../../../test/support/s3-server';
import { fileconvProcess as fileconv, filesBelow, linesOf, newFolder, parseJson } from './fileconv';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

/** Files that are not on a local disk: only `fileconv up` has the credentials, most commands do without. */

const server = s3ServerOfAllTests();
let stack: RunningStack;
let web: ReturnType<typeof createServer>;
let url: string;
beforeAll(async () => {
  web = createServer((request, response) => {
    const isThere = request.url?.startsWith('/report.md?');
    response.writeHead(isThere ? 200 : 404, { 'content-length': 9 }).end('# Report\n');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const { AWS_ENDPOINT_URL_S3: endpoint, AWS_REGION: region, ...credentials } = server.env;
  stack = await startStack({
    ...credentials,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    FILECONV_HTTPS_ALLOWED_HOSTS: '127.0.0.1',
    FILECONV_HTTPS_PLAIN_HTTP: 'on',
  });
});
afterAll(async () => {
  await stack.stop();
  web.close();
});

const documentSchema = z.object({
  status: z.string().optional(),
  workflowId: z.string().optional(),
  output: z.object({ uri: z.string(), sha256: z.string() }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

async function convert(cwd: string, ...args: string[]) {
  const ended = await fileconv(['convert', ...args, '--json'], { cwd, env: stack.env });
  return { code: ended.code, text: ended.stdout + ended.stderr, file: documentSchema.parse(parseJson(ended.stdout)) };
}

async function bucketWith(keys: Record<string, string>): Promise<string> {
  const Bucket = await server.newBucket();
  for (const [Key, Body] of Object.entries(keys)) await server.client.send(new PutObjectCommand({ Bucket, Key, Body }));
  return Bucket;
}

async function sha256Of(Bucket: string, Key: string): Promise<string> {
  const { Body } = await server.client.send(new GetObjectCommand({ Bucket, Key }));
  return createHash('sha256')
    .update(await buffer(Body as Readable))
    .digest('hex');
}

function put(bucket: string, key: string, mark = ''): Promise<unknown> {
  const Body = Buffer.concat([noisyPng(8), Buffer.from(`${key}${mark}`)]);
  return server.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body }));
}

it('converts an object to an object with the SHA-256 of the job', async () => {
  const bucket = await bucketWith({ 'in/a b.md': '# Report\n' });
  const { code, file } = await convert(
    await newFolder(),
    `s3://${bucket}/in/a b.md`,
    '--to',
    'docx',
    '--out',
    `s3://${bucket}/out`,
  );
  expect(code).toBe(0);
  expect(file.output).toMatchObject({
    uri: `s3://${bucket}/out/a%20b.docx`,
    sha256: await sha256Of(bucket, 'out/a b.docx'),
  });
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  expect(Uploads).toEqual([]);
});

it('puts the result next to the object, and the same command again skips it', async () => {
  const bucket = await bucketWith({ 'a.md': '# Report\n' });
  const once = () => convert(process.cwd(), `s3://${bucket}/a.md`, '--to', 'html');
  expect(await once()).toMatchObject({ code: 0, file: { output: { uri: `s3://${bucket}/a.html` } } });
  const again = await once();
  expect(again).toMatchObject({ code: 0, file: { status: 'skipped', output: { uri: `s3://${bucket}/a.html` } } });
});

it('takes ? and # as part of a key; a batch writes nothing to the bucket of its sources', async () => {
  const bucket = await bucketWith({ 'q#1/a?.md': '# Right\n', 'q/a.md': '# Wrong\n' });
  const cwd = await newFolder();
  const single = await convert(cwd, `s3://${bucket}/q#1/a?.md`, '--to', 'html', '--out', `s3://${bucket}/out#/`);
  expect(single).toMatchObject({ code: 0, file: { output: { uri: `s3://${bucket}/out%23/a_.html` } } });
  const options = { cwd, env: { ...stack.env, ...server.env } };
  const args = ['batch', 'run', `s3://${bucket}/q#1/`, '--to', 'html', '--out', 'here', '--name', 'signs'];
  const ended = await fileconv(args, options);
  expect([ended.code, ended.stderr]).toEqual([0, expect.not.stringContaining('Warning')]);
  expect(await readFile(path.join(cwd, 'here/a?.html'), 'utf8')).toContain('Right');
  const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: bucket }));
  expect(Contents.map(({ Key }) => Key)).toEqual(['out#/a_.html', 'q#1/a?.md', 'q/a.md']);
});

it('converts from a bucket to the disk, and from the disk to a bucket', async () => {
  const bucket = await bucketWith({ 'a.md': '# Report\n' });
  const folder = await newFolder();
  await writeFile(path.join(folder, 'b.md'), '# Report\n');
  expect(await convert(folder, `s3://${bucket}/a.md`, '--to', 'html', '--out', '.')).toMatchObject({ code: 0 });
  expect(await filesBelow(folder)).toEqual(['a.html', 'b.md']);
  expect(await convert(folder, 'b.md', '--to', 'html', '--out', `s3://${bucket}/`)).toMatchObject({ code: 0 });
  expect(await sha256Of(bucket, 'b.html')).toMatch(/^[0-9a-f]{64}$/);
});

it('converts a file from the web into a folder, and never shows the query of its URL', async () => {
  const folder = await newFolder();
  const signature = 'of-a-signed-url';
  const signed = `${url}/report.md?X-Amz-Signature=${signature}`;
  const placeless = await fileconv(['convert', signed, '--to', 'html'], { cwd: folder, env: stack.env });
  expect(placeless).toMatchObject({ code: 2, stderr: expect.stringContaining('--out') as unknown });
  const { code, text, file } = await convert(folder, signed, '--to', 'html', '--out', '.');
  expect([code, file.status]).toEqual([0, 'converted']);
  const { workflowId } = z.object({ workflowId: z.string() }).parse(file);
  const shown = await fileconv(['job', 'show', workflowId], { cwd: folder, env: stack.env });
  expect(shown.stdout).toContain(`${url}/report.md`);
  expect(placeless.stderr + text + shown.stdout).not.toContain(signature);
});

it('a batch between buckets keeps manifest, results and report there; run again, it converts only what changed', async () => {
  const [source, out] = [await server.newBucket(), await server.newBucket()];
  const names = [1, 2, 3].map((month) => `month=${month}/picture ${month}.png`);
  for (const name of names) await put(source, name);
  const options = { cwd: await newFolder(), env: { ...stack.env, ...server.env } };
  const places = [`s3://${source}/`, '--recursive', '--out', `s3://${out}/`];
  const run = () => fileconv(['batch', 'run', ...places, '--to', 'gif', '--name', 'year'], options);

  const first = await run();
  expect(first).toMatchObject({ code: 0 });
  const runs = `.fileconv/batches/year/run-0001/`;
  expect(linesOf(first.stdout)).toEqual([
    'All 3 files are converted.',
    expect.stringMatching(/^Took /) as string,
    `Report: s3://${out}/${runs}report.html`,
    `Every file: s3://${out}/${runs}report.csv`,
  ]);
  const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: out }));
  const keys = Contents.map(({ Key = '' }) => Key).filter((key) => !key.includes('/parts/'));
  expect(await fileconv(['open', 'year'], options)).toMatchObject({
    code: 0,
    stdout: `s3://${out}/${runs}report.html\n`,
    stderr: 'A browser cannot open a file in an object store. Download it with a tool for that store.\n',
  });
  const files = ['manifest.jsonl', 'receipt.csv', 'report.csv', 'report.html', 'report.json', 'results.jsonl'];
  expect(keys).toEqual(expect.arrayContaining(files.map((name) => runs + name)));
  expect(keys.filter((key) => key.startsWith('month='))).toEqual(names.map((name) => name.replace(/png$/, 'gif')));
  expect(existsSync(path.join(stack.stateDir, 'batches/year'))).toBe(false);

  await put(source, names[1] ?? '', 'changed');
  await put(source, names[2] ?? '');
  expect(linesOf((await run()).stdout)[0]).toBe(
    'All 3 files are done. 1 converted; 2 skipped: their results already exist.',
  );
  const retried = await fileconv(['batch', 'retry', 'year'], { ...options, cwd: await newFolder() });
  expect(retried.stdout).toBe('Batch year: nothing to do, 3 files done before.\n');
});

it('a missing bucket gives one line that says what to do', async () => {
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

it('no file of the stack contains the secret of the bucket, not even Temporal’s database', async () => {
  const entries = await readdir(stack.stateDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'latin1')));
  expect(contents.join('')).toContain('month=');
  expect(contents.filter((content) => content.includes(s3Secret))).toEqual([]);
});
