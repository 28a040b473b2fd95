import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, FormData, request, setGlobalDispatcher } from 'undici';
import { errorCodes } from '../src/contract/error-codes';
import { hammer } from './support/hammer';
import { app, type ServedProcess, startBareRoute, startEmbeddedService } from './support/service-processes';

/**
 * Requests per second of `task/response` at the embedded service, against a bare Fastify route that reads the same form and answers with as
 * many bytes, in turns; a route that looks at nothing is printed beside them. Then many connections that do everything at once for a
 * while: every answer must be one of the document's, and memory flat.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    'round-seconds': { type: 'string', default: '3' },
    connections: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
  },
});
const pollConnections = 200;
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
const endpointOf = (task: string) => `/v1/${task}`;

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const service = await startEmbeddedService(folder);
  try {
    const speed = await comparePolling(service);
    const load = await loadEverything(service);
    console.log(JSON.stringify({ ...speed, ...load }));
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function comparePolling(service: ServedProcess) {
  const upload = await ask(service, 'upload/file', {}, svg);
  const connector = connectorOf(upload.body);
  const converted = connectorOf(
    (await ask(service, 'convert/file', { connector, parameters: { output: 'png' } })).body,
  );
  const poll = { connector: converted, parameters: { include: ['entity', 'result'] } };
  const answer = await ask(service, 'task/response', poll);
  const bare = await startBareRoute('form', answer.body);
  const constant = await startBareRoute('constant', answer.body);
  const body = pollForm(poll);
  const servers = { service, bare, constant };
  const names = ['service', 'bare', 'constant'] as const;
  const rates = { service: [] as number[], bare: [] as number[], constant: [] as number[] };
  const cpu = { service: 0, bare: 0, constant: 0 };
  const answered = { service: 0, bare: 0, constant: 0 };
  const measure = async (name: keyof typeof servers, seconds: number) => {
    const server = servers[name];
    const before = await server.cpuSeconds();
    const startedAt = performance.now();
    const { requestsPerSecond } = await hammer(server.baseUrl, {
      request: body,
      connections: pollConnections,
      seconds,
    });
    cpu[name] += (await server.cpuSeconds()) - before;
    answered[name] += (requestsPerSecond * (performance.now() - startedAt)) / 1_000;
    return requestsPerSecond;
  };
  for (const name of names) await measure(name, 2);
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const rate = await measure(name, Number(options['round-seconds']));
      rates[name].push(rate);
      console.log(`round ${round + 1}  ${name.padEnd(8)}  ${rate.toFixed(0)} requests/s`);
    }
  }
  await bare.stop();
  await constant.stop();
  return {
    ratio: round(median(rates.service) / median(rates.bare)),
    pollsPerSecond: Math.round(median(rates.service)),
    barePerSecond: Math.round(median(rates.bare)),
    constantPerSecond: Math.round(median(rates.constant)),
    ratioToConstant: round(median(rates.service) / median(rates.constant)),
    cpuMicrosPerPoll: Math.round((cpu.service / answered.service) * 1e6),
    bareCpuMicros: Math.round((cpu.bare / answered.bare) * 1e6),
    constantCpuMicros: Math.round((cpu.constant / answered.constant) * 1e6),
  };
}

/** Each connection does jobs, one after the other, with polls and mistakes between. */
async function loadEverything(service: ServedProcess) {
  const connections = Number(options.connections);
  const seconds = Number(options.seconds);
  const agent = new Agent({ connections });
  setGlobalDispatcher(agent);
  const counts = new Map<string, number>();
  const foreign: string[] = [];
  const see = ({ status, body }: Answer) => {
    const code = /"error":\{"code":"([A-Z_]+)"/.exec(body)?.[1];
    const name = code ?? String(status);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const expected =
      code === undefined ? 200 : Object.entries(errorCodes).find(([each]) => each === code)?.[1].httpStatus;
    const shaped = code !== undefined || body.startsWith('{"') || body.startsWith('\x89PNG');
    if (status !== expected || !shaped || status >= 500) foreign.push(`HTTP ${status}: ${body.slice(0, 200)}`);
    return body;
  };
  const job = async () => {
    const connector = connectorOf(see(await ask(service, 'upload/file', {}, svg)));
    const parameters = { output: 'png' };
    const accepted = see(
      await ask(service, 'convert/file', { connector, parameters, mode: 'async', include: ['entity'] }),
    );
    const id = /"id":"([^"]+)"/.exec(accepted)?.[1] ?? '';
    for (let polls = 0; polls < 200; polls += 1) {
      if (see(await ask(service, 'task/response', { connector: id })).includes('"status":"completed"')) break;
    }
    see(await ask(service, 'task/response', { connector: 'nothing' }));
    see(
      await ask(service, 'convert/file', {
        connector,
        parameters: { output: 'nothing' },
        include: ['entity', 'result'],
      }),
    );
    see(await ask(service, 'convert/nowhere', {}));
    see(await ask(service, 'format/get', { parameters: { format: 'pdf' }, include: ['entity', 'payload', 'result'] }));
    const link = see(await ask(service, 'download/url', { connector: id }));
    if (link.includes('"url"')) see(await ask(service, 'download/url/get', { connector: connectorOf(link) }));
  };
  const run = async (forSeconds: number) => {
    const end = Date.now() + forSeconds * 1_000;
    const lane = async () => {
      while (Date.now() < end && foreign.length < 10) await job();
    };
    await Promise.all(Array.from({ length: connections }, lane));
  };
  // The heap, the threads and the caches take their working size first.
  await run(Math.max(3, seconds / 4));
  const before = await service.memory();
  counts.clear();
  await run(seconds);
  const after = await service.memory();
  await agent.close();
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `${connections} connections for ${seconds} s: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`,
  );
  for (const each of foreign) console.log(`not the document's: ${each}`);
  return {
    connections,
    seconds,
    requests: total,
    foreignAnswers: foreign.length,
    rssGrowthMiB: round(after.rssMiB - before.rssMiB),
    heapGrowthMiB: round(after.heapMiB - before.heapMiB),
    rssMiB: round(after.rssMiB),
  };
}

interface Answer {
  status: number;
  body: string;
}

async function ask(
  { baseUrl }: ServedProcess,
  task: string,
  data: Record<string, unknown>,
  file?: string,
): Promise<Answer> {
  const form = new FormData();
  form.set('data', JSON.stringify({ app: app.appId, ...data }));
  if (file !== undefined) form.set('file', new Blob([file]), 'logo.svg');
  const { statusCode, body } = await request(`${baseUrl}${endpointOf(task)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.token}` },
    body: form,
  });
  return { status: statusCode, body: Buffer.from(await body.arrayBuffer()).toString('latin1') };
}

/** A poll as it goes over the wire. */
function pollForm(data: Record<string, unknown>): Buffer {
  const boundary = 'bench-boundary';
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="data"\r\n\r\n${JSON.stringify({ app: app.appId, ...data })}\r\n--${boundary}--\r\n`;
  const headers = [
    `POST ${endpointOf('task/response')} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${app.token}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `content-length: ${body.length}`,
  ];
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}`);
}

function connectorOf(body: string): string {
  const connector = /"connector":"([^"]+)"/.exec(body)?.[1];
  if (connector === undefined) throw new Error(`No connector in ${body}`);
  return connector;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

void main();
