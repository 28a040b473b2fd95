import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type BenchService, listen, startService } from './bench-service';
import { asChild } from './child-process';

const connector = '00000000-0000-4000-8000-000000000000';
const chunkBytes = 1024 * 1024;

interface Paths {
  /** Takes uploads. */
  readonly storePath: string;
  /** What a download brings. */
  readonly servedPath: string;
}

/**
 * A conversion service that converts nothing: it stores what is uploaded and returns a file it was given, so that only the
 * transfer is measured. `/raw` takes and returns the same bytes with no framing at all.
 */
export function startTransferService(paths: Paths): Promise<BenchService> {
  return startService(__filename, paths);
}

async function begin(paths: Paths): Promise<number> {
  return listen((request, response) => {
    answer(request, response, paths).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { storePath, servedPath }: Paths,
): Promise<void> {
  const entity = { id: connector, type: 'task', status: 'completed' };
  const converted = { output: { connector, status: 'successful', duration: 0 }, error: {}, warning: {} };
  const route = `${request.method ?? ''} ${request.url ?? ''}`;
  if (route === 'POST /raw') {
    await store(request, storePath);
    sendJson(response, {});
  } else if (route === 'GET /raw') {
    await sendFile(response, servedPath);
  } else if (route === 'POST /v1/upload/file') {
    const size = await store(request, storePath);
    sendJson(response, { result: { output: { connector, size } } });
  } else {
    request.resume();
    await once(request, 'end');
    const { size } = await stat(servedPath);
    if (route === 'POST /v1/convert/file') {
      sendJson(response, { entity: { ...entity, status: 'running' }, result: {} });
    } else if (route === 'POST /v1/task/response') {
      sendJson(response, { result: { output: { entity, result: converted } } });
    } else if (route === 'POST /v1/download/url') {
      sendJson(response, { result: { output: { connector, name: 'bytes.bin', size } } });
    } else if (route === 'POST /v1/download/url/get') {
      await sendFile(response, servedPath);
    } else {
      sendJson(response, { result: { error: { code: 'NOT_FOUND', message: route } } });
    }
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

async function sendFile(response: ServerResponse, filePath: string): Promise<void> {
  const { size } = await stat(filePath);
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
  await pipeline(createReadStream(filePath, { highWaterMark: chunkBytes }), response);
}

/**
 * Writes an upload down in large steps, so that the service is not what is measured. Of a multipart body, whose last part is
 * the file and whose length is known, it keeps the file's bytes.
 */
async function store(request: IncomingMessage, storePath: string): Promise<number> {
  const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')?.[1];
  const tailBytes = boundary === undefined ? 0 : `\r\n--${boundary}--\r\n`.length;
  let left = Number(request.headers['content-length']) - tailBytes;
  let inFile = boundary === undefined;
  let batch: Buffer[] = [];
  let batchedBytes = 0;
  let size = 0;
  const file = await open(storePath, 'w');
  for await (const chunk of request as AsyncIterable<Buffer>) {
    let kept = chunk.subarray(0, Math.max(0, left));
    left -= chunk.length;
    if (!inFile) {
      // The client frames the whole head in one piece, which is far shorter than a read.
      kept = kept.subarray(kept.indexOf('\r\n\r\n', kept.indexOf('name="file"')) + 4);
      inFile = true;
    }
    batch.push(kept);
    batchedBytes += kept.length;
    size += kept.length;
    if (batchedBytes >= chunkBytes) {
      await file.writev(batch);
      batch = [];
      batchedBytes = 0;
    }
  }
  if (batch.length > 0) await file.writev(batch);
  await file.close();
  return size;
}

asChild(module, begin);
