import { randomBytes } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { parseCallbackKeys } from '../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver } from '../src/callbacks/receiver';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { defaultTaskQueue } from '../src/job/names';
import { app } from './support/app';
import type { BenchService } from './support/bench-service';
import { percentile, round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { startTimedService } from './support/timed-service';
import { startWorker } from './support/worker';

/**
 * From the moment the receiver has a callback to the start of the job's next activity, beside a bare signal to a bare workflow: so many of each
 * wait at any time, and callbacks and bare signals come in turns, evenly spaced. Then jobs without callbacks, for the requests they spend.
 */
const { values: options } = parseArgs({
  options: {
    'in-flight': { type: 'string', default: '100' },
    'conversion-seconds': { type: 'string', default: '20' },
    seconds: { type: 'string', default: '80' },
    'polling-jobs': { type: 'string', default: '20' },
  },
});
const inFlight = Number(options['in-flight']);
const conversionMs = Number(options['conversion-seconds']) * 1_000;
const measuredMs = Number(options.seconds) * 1_000;

/** When the receiver had the head of a callback, and when a bare signal was sent, by workflow. */
const calledAt = { job: new Map<string, number>(), bare: new Map<string, number>() };

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const source = path.join(folder, 'report.md');
  await writeFile(source, '# A report\n');
  const callbackKey = randomBytes(32).toString('base64url');
  // Both signals are sent by this process, through one connection.
  const receiver = await startCallbackReceiver({
    keys: parseCallbackKeys(callbackKey),
    signalJob: createSignalJob(temporal),
    log: console.error,
  });
  owns({ stop: () => receiver.close() });
  const calling = owns(await startTimedService(conversionMs));
  const silent = owns(await startTimedService(conversionMs));
  const apps = {
    calling: { ...app, baseUrl: calling.baseUrl, callbackBaseUrl: receiver.url },
    silent: { ...app, baseUrl: silent.baseUrl },
  };
  // One task queue for both: how fast the server hands out a task depends on what else happens in its queue.
  const workflowsPath = require.resolve('./support/compared-workflows');
  owns(await startWorker({ temporalAddress, callbackKey, apps, workflowsPath }));

  const convert = (profile: string, id: string) =>
    new FileConversionClient({ client: temporal, app: profile }).convert(
      { source, output: 'pdf', destination: path.join(folder, 'out', `${id}.pdf`) },
      { workflowId: id },
    );
  const bare = async (workflowId: string) => {
    const handle = await temporal.workflow.start('waitingWorkflow', { workflowId, taskQueue: defaultTaskQueue });
    await sleep(conversionMs);
    calledAt.bare.set(workflowId, now());
    await handle.signal('goOn');
    await handle.result();
  };

  watchCallbacks();
  const end = performance.now() + measuredMs;
  const offsetMs = conversionMs / inFlight;
  console.log(
    `${inFlight} jobs and ${inFlight} bare workflows wait at any time; one of each is woken every ${offsetMs} ms`,
  );
  const jobs = await Promise.all([
    ...lanes('job', { delayMs: 0, end, run: (id) => convert('calling', id) }),
    ...lanes('bare', { delayMs: offsetMs / 2, end, run: bare }),
  ]);
  const finishedJobs = jobs.slice(0, inFlight).reduce((sum, each) => sum + each, 0);
  const requestsWithCallback = (await calling.ask<number>('requests')) / finishedJobs;

  const latencies = {
    job: await latenciesOf(temporal, calledAt.job, end),
    bare: await latenciesOf(temporal, calledAt.bare, end),
  };
  report('callback to the job', latencies.job);
  report('bare signal', latencies.bare);

  const pollingJobs = Number(options['polling-jobs']);
  const first = await requestsOfFirst(silent, () => convert('silent', 'polling/first'));
  await Promise.all(Array.from({ length: pollingJobs }, (_, index) => convert('silent', `polling/${index}`)));
  const requestsByPolling = ((await silent.ask<number>('requests')) - first) / pollingJobs;

  const [p50Ms, bareP50Ms] = [percentile(latencies.job, 0.5), percentile(latencies.bare, 0.5)];
  return {
    ratio: round(p50Ms / bareP50Ms),
    p50Ms: round(p50Ms),
    p99Ms: round(percentile(latencies.job, 0.99)),
    bareP50Ms: round(bareP50Ms),
    bareP99Ms: round(percentile(latencies.bare, 0.99)),
    requestsWithCallback: round(requestsWithCallback),
    requestsByPolling: round(requestsByPolling),
    requestsOfFirstByPolling: first,
    callbacks: latencies.job.length,
    inFlight,
  };
}

async function requestsOfFirst(service: BenchService, run: () => Promise<unknown>): Promise<number> {
  await run();
  return service.ask('requests');
}

/** Each runs one after the other; they begin one after the other, so that what they wait for comes evenly spaced. */
function lanes(
  name: string,
  { delayMs, end, run }: { delayMs: number; end: number; run: (id: string) => Promise<unknown> },
): Promise<number>[] {
  return Array.from({ length: inFlight }, async (_, lane) => {
    await sleep(delayMs + (lane / inFlight) * conversionMs);
    let round = 0;
    // A lane that has begun keeps its place until the end, so that the load stays what it is.
    while (performance.now() < end) {
      await run(`${name}/${lane}/${round}`);
      round += 1;
    }
    return round;
  });
}

/** By the clock of the machine, which the Temporal server reads too; with parts of a millisecond. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Callbacks by the first that the receiver's process sees of them, before their URL is checked. */
function watchCallbacks(): void {
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage };
    const id = /^\/([^.]+)\./.exec(request.url ?? '')?.[1] ?? '';
    calledAt.job.set(Buffer.from(id, 'base64url').toString(), now());
  });
}

/** Until the next activity was started, by the server's history; only of those that came while everybody was there. */
async function latenciesOf(temporal: Client, called: ReadonlyMap<string, number>, end: number): Promise<number[]> {
  const latencies: number[] = [];
  for (const [workflowId, atMs] of called) {
    if (atMs > performance.timeOrigin + end) continue;
    const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    const signalled = events?.findIndex((event) => event.workflowExecutionSignaledEventAttributes != null) ?? -1;
    const started = events?.slice(signalled).find((event) => event.activityTaskStartedEventAttributes != null);
    if (signalled === -1 || !started?.eventTime) throw new Error(`${workflowId} was not woken`);
    const { seconds, nanos } = started.eventTime;
    latencies.push(Number(seconds) * 1_000 + Number(nanos) / 1e6 - atMs);
  }
  return latencies.sort((a, b) => a - b);
}

function report(name: string, sorted: readonly number[]): void {
  const figures = [0.5, 0.9, 0.99, 1].map((share) => `p${share * 100} ${percentile(sorted, share).toFixed(1)} ms`);
  console.log(`${name.padEnd(20)} ${sorted.length} times  ${figures.join('  ')}`);
}

void measureWithTemporal(main);
