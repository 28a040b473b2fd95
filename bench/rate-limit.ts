import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { app, drawing } from './support/app';
import { round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { convertPlainly } from './support/plain-client';
import { type CountedRequest, limitsOf, type RateLimits, startEmbeddedService } from './support/service-processes';
import { startWorker } from './support/worker';

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
const windowSeconds = Number(options['window-seconds']);
const rateLimits = limitsOf(Number(options.limit), windowSeconds);
interface Figures {
  utilisation: number;
  throttled: number;
  seconds: number;
  requestsPerJob: number;
}

async function main(setting: TemporalSetting) {
  const figures = new Map<number, Figures>();
  for (const workers of options.workers.split(',').map(Number)) {
    const name = `${workers} worker${workers === 1 ? '' : 's'}`;
    figures.set(workers, await figuresOf(name, setting, (baseUrl) => runJobs(setting, { baseUrl, workers, name })));
  }
  const plain = options.plain === 'yes' ? await figuresOf('plain', setting, runPlainly) : undefined;
  const [[workers, first] = [], ...others] = figures;
  const ratio = first && plain ? { ratio: round3(plain.seconds / first.seconds) } : {};
  return { ...ratio, workers, ...first, others: Object.fromEntries(others), plain, jobs, rateLimits };
}

async function figuresOf(
  name: string,
  { folder, owns }: TemporalSetting,
  run: (baseUrl: string) => Promise<void>,
): Promise<Figures> {
  const dataDir = path.join(folder, `service of ${name}`);
  const service = owns(await startEmbeddedService({ dataDir, rateLimits }));
  const startedAt = performance.now();
  await run(service.baseUrl);
  const seconds = (performance.now() - startedAt) / 1_000;
  const requests = await service.ask<CountedRequest[]>('requests');
  await service.stop();
  report(name, requests, seconds);
  return {
    utilisation: round3(utilisationOf(requests, 'upload')),
    throttled: round3(requests.filter(isThrottled).length / requests.length),
    seconds: round3(seconds),
    requestsPerJob: round3(requests.length / jobs),
  };
}

async function runJobs(
  { temporal, temporalAddress, ...setting }: TemporalSetting,
  { baseUrl, workers, name }: { baseUrl: string; workers: number; name: string },
): Promise<void> {
  const folder = path.join(setting.folder, name);
  await mkdir(folder);
  const source = path.join(folder, 'logo.svg');
  await writeFile(source, drawing);
  const apps = { bench: { ...app, baseUrl } };
  const running = setting.owns(await startWorker({ temporalAddress, apps, taskQueue: name, workers }));
  const client = new FileConversionClient({ client: temporal, taskQueue: name, app: 'bench' });
  const destinationOf = (index: number) => path.join(folder, 'out', `${index}.png`);
  await allAtOnce((index) => client.convert({ source, output: 'png', destination: destinationOf(index) }));
  await running.stop();
}

function runPlainly(baseUrl: string): Promise<void> {
  return allAtOnce(() => convertPlainly(baseUrl, { name: 'logo.svg', data: new Blob([drawing]) }, 'png'));
}

async function allAtOnce(run: (index: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: jobs }, (_, index) => run(index)));
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

function round3(value: number): number {
  return round(value, 3);
}

void measureWithTemporal(main);
