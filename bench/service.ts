import { parseArgs } from 'node:util';
import { Agent, setGlobalDispatcher } from 'undici';
import { errorCodes } from '../src/contract/error-codes';
import { app, drawing } from './support/app';
import type { BenchService } from './support/bench-service';
import { median, round } from './support/figures';
import { hammer } from './support/hammer';
import { measure, type Setting } from './support/measurement';
import { connectorOf, post } from './support/requests';
import { type Memory, startBareRoute, startEmbeddedService } from './support/service-processes';

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

async function main({ folder, owns }: Setting) {
  const service = owns(await startEmbeddedService({ dataDir: folder }));
  return { ...(await comparePolling(service, owns)), ...(await loadEverything(service)) };
}

async function comparePolling(service: BenchService, owns: Setting['owns']) {
  const upload = await ask(service, 'upload/file', {}, drawing);
  const connector = connectorOf(upload.body);
  const converted = connectorOf(
    (await ask(service, 'convert/file', { connector, parameters: { output: 'png' } })).body,
  );
  const poll = { connector: converted, parameters: { include: ['entity', 'result'] } };
  const answer = await ask(service, 'task/response', poll);
  const bare = owns(await startBareRoute({ kind: 'form', answer: answer.body }));
  const constant = owns(await startBareRoute({ kind: 'constant', answer: answer.body }));
  const body = pollForm(poll);
  const servers = { service, bare, constant };
  const names = ['service', 'bare', 'constant'] as const;
  const rates = { service: [] as number[], bare: [] as number[], constant: [] as number[] };
  const cpu = { service: 0, bare: 0, constant: 0 };
  const answered = { service: 0, bare: 0, constant: 0 };
  const measureOne = async (name: keyof typeof servers, seconds: number) => {
    const server = servers[name];
    const before = (await server.usage()).cpuSeconds;
    const startedAt = performance.now();
    const { requestsPerSecond } = await hammer(server.baseUrl, {
      request: body,
      connections: pollConnections,
      seconds,
    });
    cpu[name] += (await server.usage()).cpuSeconds - before;
    answered[name] += (requestsPerSecond * (performance.now() - startedAt)) / 1_000;
    return requestsPerSecond;
  };
  for (const name of names) await measureOne(name, 2);
  for (let turn = 0; turn < Number(options.rounds); turn += 1) {
    for (const name of turn % 2 === 0 ? names : names.toReversed()) {
      const rate = await measureOne(name, Number(options['round-seconds']));
      rates[name].push(rate);
      console.log(`round ${turn + 1}  ${name.padEnd(8)}  ${rate.toFixed(0)} requests/s`);
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
async function loadEverything(service: BenchService) {
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
    const connector = connectorOf(see(await ask(service, 'upload/file', {}, drawing)));
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
  const before = await service.ask<Memory>('memory');
  counts.clear();
  await run(seconds);
  const after = await service.ask<Memory>('memory');
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

async function ask({ baseUrl }: BenchService, task: string, data: object, file?: string): Promise<Answer> {
  const source = file === undefined ? undefined : { name: 'logo.svg', data: new Blob([file]) };
  const { statusCode, body } = await post(baseUrl, task, data, source);
  return { status: statusCode, body: Buffer.from(await body.arrayBuffer()).toString('latin1') };
}

/** A poll as it goes over the wire. */
function pollForm(data: Record<string, unknown>): Buffer {
  const boundary = 'bench-boundary';
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="data"\r\n\r\n${JSON.stringify({ app: app.appId, ...data })}\r\n--${boundary}--\r\n`;
  const headers = [
    'POST /v1/task/response HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${app.token}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `content-length: ${body.length}`,
  ];
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}`);
}

void measure(main);
