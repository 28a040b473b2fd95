import type { IncomingMessage, ServerResponse } from 'node:http';
import { pdfOf } from '../../test/support/made-results';
import { type BenchService, listen, startService } from './bench-service';
import { asChild } from './child-process';

const connector = '00000000-0000-4000-8000-000000000000';
const converted = pdfOf(['A report']);

/** A conversion service that answers every request at once, converts nothing and counts `requests`. */
export function startInstantService(): Promise<BenchService> {
  return startService(__filename);
}

/** Answers by path, serialised once: an async convert is accepted as running and completed at the first poll. */
const answers: Record<string, Buffer> = {
  '/v1/upload/file': json({ result: { output: { connector, size: 1 }, error: {}, warning: {} } }),
  '/v1/convert/file': json({ entity: { id: connector, type: 'task', status: 'running' }, result: {} }),
  '/v1/task/response': json({
    result: {
      output: {
        entity: { id: connector, type: 'task', status: 'completed', vcredits: 1 },
        result: { output: { connector, status: 'successful', duration: 0 }, error: {}, warning: {} },
      },
      error: {},
      warning: {},
    },
  }),
  '/v1/download/url': json({
    result: { output: { connector, name: 'a.pdf', size: converted.length }, error: {}, warning: {} },
  }),
  '/v1/download/url/get': converted,
};

function json(body: unknown): Buffer {
  return Buffer.from(JSON.stringify(body));
}

let requests = 0;

function answer(request: IncomingMessage, response: ServerResponse): void {
  requests += 1;
  request.resume();
  request.once('end', () => {
    const body = answers[request.url ?? ''] ?? json({ code: 'NOT_FOUND', message: '' });
    const type = body === converted ? 'application/octet-stream' : 'application/json';
    response.writeHead(200, { 'content-type': type, 'content-length': body.length });
    response.end(body);
  });
}

asChild(module, () => listen(answer), { requests: () => requests });
