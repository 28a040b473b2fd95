import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { startJobWorker } from './support/job-worker';
import { convertPlainly } from './support/plain-client';
import { app, type CountedRequest, type RateLimits, startLimitedService } from './support/service-processes';
import { startBenchServer } from './support/temporal-server';

/**
 * Many jobs at once against a service that allows few requests: what share of the allowance is used while work is waiting, and what share
 * of the answers is a 429. First with one worker, then with four that share the app without knowing of each other, then with a plain
 * client that retries after a 429 with backoff. All is counted at the service.
 */
const { values: given } = parseArgs({
  options: {
    jobs: { type: 'string' },
    limit: { type: 'string' },
    'window-seconds': { type: 'string' },
    workers: { type: 'string', default: '1,4' },
    plain: { type: 'string' },
  },
});
/** Ten workers cannot share ten uploads in two seconds: a fleet's service allows 100 in a minute. */
const isFleet = Math.max(...given.workers.split(',').map(Number)) > 4;
const options = {
  ...(isFleet
    ? { jobs: '500', limit: '200', 'window-seconds': '60', plain: 'no' }
    : { jobs: '300', limit: '20', 'window-seconds': '2', plain: 'yes' }),
  ...given,
};
const jobs = Number(options.jobs);
const limit = Number(options.limit);
const windowSeconds = Number(options['window-seconds']);
/** Uploads are stricter, as the document says, so they decide how long it all takes; a download is two requests of one class. */
const rateLimits: RateLimits = { windowSeconds, upload: limit / 2, submit: limit, poll: limit, download: limit };
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';

interface Figures {
  utilisation: number;
  throttled: number;
  seconds: number;
  requestsPerJob: number;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const server = await startBenchServer();
  const connection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection });
  const figures = new Map<number, Figures>();
  let plain: Figures | undefined;
  try {
    for (const workers of options.workers.split(',').map(Number)) {
      const name = `${workers} worker${workers === 1 ? '' : 's'}`;
      const run = (baseUrl: string) =>
        runJobs({ temporal, temporalAddress: server.address, baseUrl, workers, folder: path.join(folder, name) });
      figures.set(workers, await measure(name, folder, run));
    }
    if (options.plain === 'yes') {
      const run = async (baseUrl: string) => {
        await Promise.all(
          Array.from({ length: jobs }, () => convertPlainly(baseUrl, { name: 'logo.svg', data: svg }, 'png')),
        );
      };
      plain = await measure('plain', folder, run);
    }
  } finally {
    await connection.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
  const [[workers, first] = [], ...others] = figures;
  const ratio = first && plain ? { ratio: round(plain.seconds / first.seconds) } : {};
  console.log(
    JSON.stringify({ ...ratio, workers, ...first, others: Object.fromEntries(others), plain, jobs, rateLimits }),
  );
}

async function measure(name: string, folder: string, run: (baseUrl: string) => Promise<void>): Promise<Figures> {
  const service = await startLimitedService(path.join(folder, `service of ${name}`), rateLimits);
  try {
    const startedAt = performance.now();
    await run(service.baseUrl);
    const seconds = (performance.now() - startedAt) / 1_000;
    const requests = await service.requests();
    report(name, requests, seconds);
    return {
      utilisation: round(utilisationOf(requests, 'upload')),
      throttled: round(requests.filter(isThrottled).length / requests.length),
      seconds: round(seconds),
      requestsPerJob: round(requests.length / jobs),
    };
  } finally {
    await service.stop();
  }
}

async function runJobs({
  temporal,
  folder,
  workers,
  ...service
}: {
  temporal: Client;
  temporalAddress: string;
  baseUrl: string;
  workers: number;
  folder: string;
}): Promise<void> {
  await mkdir(folder);
  const source = path.join(folder, 'logo.svg');
  await writeFile(source, svg);
  const taskQueue = path.basename(folder);
  const running = await startJobWorker({ ...service, taskQueue, appId: app.appId, workers });
  try {
    const client = new FileConversionClient({ client: temporal, taskQueue, app: 'bench' });
    await Promise.all(
      Array.from({ length: jobs }, (_, index) =>
        client.convert({ source, output: 'png', destination: path.join(folder, 'out', `${index}.png`) }),
      ),
    );
  } finally {
    await running.stop();
  }
}

const classes: Record<keyof Omit<RateLimits, 'windowSeconds'>, readonly string[]> = {
  upload: ['upload/file'],
  submit: ['convert/file'],
  poll: ['task/response'],
  download: ['download/url', 'download/url/get'],
};

/**
 * The requests served over those that the limit allows, in the windows of the service at whose beginning enough work waited to fill them. A window
 * begins with a request and is taken to last until the next one begins, so the time between counts as unused. All jobs are started at
 * once, so what uploads have still to be sent are waiting; of the other classes the figure says less, since they wait for uploads.
 */
function utilisationOf(requests: readonly CountedRequest[], name: keyof typeof classes): number {
  const times = served(requests, name)
    .map(({ atMs }) => atMs)
    .sort((a, b) => a - b);
  const limitOfWindow = rateLimits[name];
  const windowMs = windowSeconds * 1_000;
  let [used, lastedMs, begin] = [0, 0, 0];
  while (times.length - begin >= limitOfWindow) {
    const beganMs = times[begin] ?? 0;
    const next = times.findIndex((atMs) => atMs >= beganMs + windowMs);
    const end = next === -1 ? times.length : next;
    used += end - begin;
    lastedMs += next === -1 ? windowMs : (times[next] ?? 0) - beganMs;
    begin = end;
  }
  return used / ((lastedMs / windowMs) * limitOfWindow);
}

function served(requests: readonly CountedRequest[], name: keyof typeof classes): CountedRequest[] {
  return requests.filter((request) => classes[name].includes(request.endpoint) && !isThrottled(request));
}

function isThrottled({ status }: CountedRequest): boolean {
  return status === 429;
}

function report(name: string, requests: readonly CountedRequest[], seconds: number): void {
  const start = Math.min(...requests.map(({ atMs }) => atMs));
  console.log(`${name}: ${jobs} jobs in ${seconds.toFixed(1)} s`);
  console.log('  class      allowed  served   429  from s    to s   used');
  for (const key of Object.keys(classes) as (keyof typeof classes)[]) {
    const all = served(requests, key);
    const refused = requests.filter(
      (request) => classes[key].includes(request.endpoint) && isThrottled(request),
    ).length;
    const [from = 0, to = 0] = [Math.min, Math.max].map(
      (pick) => (pick(...all.map(({ atMs }) => atMs)) - start) / 1_000,
    );
    const allowed = `${rateLimits[key]}/${windowSeconds} s`;
    const used = utilisationOf(requests, key).toFixed(3);
    const columns = [allowed.padStart(8), all.length, refused, from.toFixed(1), to.toFixed(1), used];
    console.log(`  ${key.padEnd(8)} ${columns.map((column) => String(column).padStart(7)).join(' ')}`);
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

void main();
