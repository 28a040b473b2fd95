import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createApp, openRequest, startTestService, type TestClient, tinyPng, tinySvg, uploadHead } from '../support';

/** Limits of disk usage, and behaviour at the limit. */

const kilobytes = (count: number): string => 'x'.repeat(count * 1024);
const full = {
  status: 500,
  error: {
    code: 'INTERNAL_SERVER_ERROR',
    message: expect.stringMatching(/no space left .* Try again later/) as string,
  },
};

const outOfSpace = /^500 .*"INTERNAL_SERVER_ERROR".*no space left/;

const filesIn = async (dataDir: string): Promise<string[]> =>
  (await Promise.all(['uploads', 'outputs'].map((folder) => readdir(path.join(dataDir, folder))))).flat();

describe('uploads and outputs beyond max_stored_bytes', () => {
  it('refuses an upload without room and keeps nothing of it; a smaller one fits', async () => {
    const { client, dataDir, stop } = await startTestService({ maxStoredBytes: 100 * 1024 });
    const first = await client.upload('a.txt', kilobytes(60));
    expect(await client.post('upload/file', {}, { name: 'b.txt', data: kilobytes(60) })).toMatchObject(full);
    expect(await filesIn(dataDir)).toEqual([first]);
    const third = await client.upload('c.txt', kilobytes(30));
    expect((await filesIn(dataDir)).sort()).toEqual([first, third].sort());
    await stop();
  });

  it('stops an upload of unknown length at the limit', async () => {
    const { client, dataDir, stop } = await startTestService({ maxStoredBytes: 100 * 1024 });
    expect(await uploadInChunks(client, 300)).toMatch(outOfSpace);
    expect(await filesIn(dataDir)).toEqual([]);
    expect(await uploadInChunks(client, 80)).toMatch(/^200 /);
    await stop();
  });

  it('counts the files of an earlier process', async () => {
    const testApp = createApp();
    const first = await startTestService({ maxStoredBytes: 100 * 1024 }, testApp);
    await first.client.upload('a.txt', kilobytes(60));
    await first.service.close();
    const second = await startTestService({ dataDir: first.dataDir, maxStoredBytes: 100 * 1024 }, testApp);
    expect(await second.client.post('upload/file', {}, { name: 'b.txt', data: kilobytes(60) })).toMatchObject(full);
    await second.stop();
  });

  it('fails a conversion whose output does not fit, keeps nothing of it, and continues', async () => {
    const { client, dataDir, stop } = await startTestService({ maxStoredBytes: 200 * 1024 });
    const other = await client.upload('a.txt', kilobytes(198));
    const svg = tinySvg.replace('width="40" height="20"', 'width="4000" height="2000"');
    const connector = await client.upload('a.svg', svg);
    expect(await client.post('convert/file', { connector, parameters: { output: 'png' } })).toMatchObject(full);
    expect((await filesIn(dataDir)).sort()).toEqual([connector, other].sort());
    expect((await client.convert({ name: 'dot.png', data: tinyPng }, 'webp')).output.status).toBe('successful');
    await stop();
  });
});

it('fails a conversion whose output could never fit as a fault of the file', async () => {
  const { client, stop } = await startTestService({ maxWrittenBytes: 4 * 1024 });
  const svg = tinySvg.replace('width="40" height="20"', 'width="4000" height="2000"');
  const { error } = await client.convert({ name: 'a.svg', data: svg }, 'png');
  expect(error).toMatchObject({ code: 'FAILED_CONVERT' });
  expect(error.message).toMatch(/writes more than the 4 KiB that it may/);
  await stop();
});

it('refuses uploads on a disk with less than min_free_bytes', async () => {
  const { client, dataDir, stop } = await startTestService({ minFreeBytes: Number.MAX_SAFE_INTEGER });
  expect(await client.post('upload/file', {}, { name: 'a.png', data: tinyPng })).toMatchObject(full);
  expect(await filesIn(dataDir)).toEqual([]);
  await stop();
});

/** Half a kilobyte of SVG that renders to megabytes of incompressible pixels. */
const noise =
  '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="1200"><filter id="n"><feTurbulence baseFrequency="0.9"/></filter><rect width="1200" height="1200" filter="url(#n)"/></svg>';

/** Undefined unless a file system of three megabytes can be mounted, which needs root. */
const smallDisk = mountSmallDisk();

(smallDisk === undefined ? describe.skip : describe)('a disk that is full in the middle of a write', () => {
  afterAll(() => {
    execFileSync('umount', ['-l', smallDisk ?? '']);
    rmSync(smallDisk ?? '', { recursive: true });
  });

  it('fails the upload or the task, leaves no partial file, and continues', async () => {
    const dataDir = path.join(smallDisk ?? '', 'data');
    mkdirSync(dataDir);
    const { client, service } = await startTestService({ dataDir, minFreeBytes: 0 });
    expect(await uploadInChunks(client, 5_000)).toMatch(outOfSpace);
    expect(await filesIn(dataDir)).toEqual([]);
    const filler = await client.upload('filler.txt', kilobytes(1_500));
    const connector = await client.upload('noise.svg', noise);
    expect(await client.post('convert/file', { connector, parameters: { output: 'png' } })).toMatchObject(full);
    expect((await filesIn(dataDir)).sort()).toEqual([filler, connector].sort());
    expect((await client.convert({ name: 'dot.png', data: tinyPng }, 'webp')).output.status).toBe('successful');
    await service.close();
  });
});

function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), 'fileconv-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

/** Uploads with chunked encoding, so that the length is unknown. @returns status and body. */
async function uploadInChunks(client: TestClient, kilobyteCount: number): Promise<string> {
  const { request, answer } = openRequest(client, 'upload/file');
  request.write(uploadHead(client, 'a.txt'));
  for (let count = 0; count < kilobyteCount; count += 1) request.write(kilobytes(1));
  request.end('\r\n--b--\r\n');
  const { status, body } = await answer;
  return `${status ?? 0} ${body}`;
}
