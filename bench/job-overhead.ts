import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { FileConversionPlugin } from '../src/plugin';
import type { ConversionPolicies, ResultCheck } from '../src/shared/job';
import { createConversionWorker } from '../src/worker';
import type { HandWrittenInput } from './support/hand-written';
import { handWrittenActivities } from './support/hand-written-activities';
import { startInstantService } from './support/instant-service';
import { startBenchServer } from './support/temporal-server';

/**
 * Jobs per second of `conversionJob`, against a bare workflow of as many no-op activities, and against the workflow that is usually
 * written by hand, without any protection, on the same server in the same run. The service answers at once in a process of its own;
 * server, service and worker share the machine. With `--check`, jobs whose results pass it are compared with those of the default check
 * in place of the bare ones.
 */
const { values: options } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '9' },
    parallel: { type: 'string', default: '50' },
    check: { type: 'string' },
  },
});
const jobsPerRound = Number(options.jobs);
const activitiesOfAJob = 4;

const ways = ['job', 'bare', 'hand'] as const;
type Way = (typeof ways)[number];

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const source = path.join(folder, 'report.md');
  await writeFile(source, '# A report\n');
  const server = await startBenchServer();
  const service = await startInstantService();
  const connection = await NativeConnection.connect({ address: server.address });
  const plugin = new FileConversionPlugin({
    apps: { stub: { baseUrl: service.baseUrl, appId: 'bench', token: 'bench-token' } },
  });
  const jobWorker = await createConversionWorker({ connection, plugin });
  const bareWorker = await Worker.create({
    connection,
    taskQueue: 'bare',
    workflowsPath: require.resolve('./support/bare-workflow'),
    activities: { noOp: (step: number) => Promise.resolve(step) },
  });
  const handWorker = await Worker.create({
    connection,
    taskQueue: 'hand',
    workflowsPath: require.resolve('./support/hand-written'),
    activities: handWrittenActivities,
  });
  const running = [jobWorker.run(), bareWorker.run(), handWorker.run()];
  const clientConnection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection: clientConnection });
  const conversion = new FileConversionClient({ client: temporal, app: 'stub' });

  const check = options.check as ResultCheck | undefined;
  const job = async (id: string, policies: ConversionPolicies = check ? { check } : {}) => {
    const destination = path.join(folder, 'out', `${id}.pdf`);
    // The stub is done at once, so the first check may come at once.
    await conversion.convert(
      { source, output: 'pdf', destination, policies: { firstCheckAfter: 1, ...policies } },
      { workflowId: `job/${id}` },
    );
  };
  const bare = async (id: string) => {
    if (check) return job(id, {});
    await temporal.workflow.execute('bareWorkflow', {
      workflowId: `bare/${id}`,
      taskQueue: 'bare',
      args: [activitiesOfAJob],
    });
  };

  const hand = async (id: string) => {
    const destination = path.join(folder, 'out', `${id}.pdf`);
    const input: HandWrittenInput = { baseUrl: service.baseUrl, source, output: 'pdf', destination };
    await temporal.workflow.execute('handWrittenConversion', {
      workflowId: `hand/${id}`,
      taskQueue: 'hand',
      args: [input],
    });
  };

  const run: Record<Way, (id: string) => Promise<void>> = { job, bare, hand };
  for (const way of ways) await measure(`warm-${way}`, 20, run[way]);
  const rates: Record<Way, number[]> = { job: [], bare: [], hand: [] };
  const cpuMs = { job: 0, bare: 0, hand: 0 };
  let requests = 0;
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // A B C, C B A, ...: a drift of the machine's speed hits all alike.
    for (const way of round % 2 === 0 ? ways : [...ways].reverse()) {
      const requestsBefore = await service.requests();
      const before = process.cpuUsage();
      const rate = await measure(`${way}-${round}`, jobsPerRound, run[way]);
      const { user, system } = process.cpuUsage(before);
      if (way === 'job') requests += (await service.requests()) - requestsBefore;
      rates[way].push(rate);
      cpuMs[way] += (user + system) / 1_000;
      console.log(`round ${round + 1}  ${way.padEnd(4)}  ${rate.toFixed(1)} jobs/s`);
    }
  }
  const jobs = jobsPerRound * Number(options.rounds);
  const events = await eventsOf(temporal, 'job/job-0-0');

  for (const worker of [bareWorker, handWorker]) worker.shutdown();
  jobWorker.shutdown();
  await Promise.all(running);
  await clientConnection.close();
  await connection.close();
  service.stop();
  await server.stop();
  await rm(folder, { recursive: true });

  const ratioTo = (other: 'bare' | 'hand') =>
    round2(median(rates.job.map((rate, round) => rate / (rates[other][round] ?? Number.NaN))));
  const figures = {
    ratio: ratioTo('bare'),
    handWrittenRatio: ratioTo('hand'),
    jobsPerSecond: round2(median(rates.job)),
    bareJobsPerSecond: round2(median(rates.bare)),
    handWrittenJobsPerSecond: round2(median(rates.hand)),
    // Of this process: client and worker, without the servers.
    cpuMsPerJob: round2(cpuMs.job / jobs),
    bareCpuMsPerJob: round2(cpuMs.bare / jobs),
    handWrittenCpuMsPerJob: round2(cpuMs.hand / jobs),
    activitiesPerJob: activitiesOfAJob,
    historyEventsPerJob: events.all,
    workflowTasksPerJob: events.workflowTasks,
    requestsPerJob: requests / jobs,
    jobsPerRound,
    rounds: Number(options.rounds),
  };
  console.log(JSON.stringify(figures));
}

/** Runs `count` of them, so many at a time, and returns how many were done a second. */
async function measure(name: string, count: number, run: (id: string) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const id = `${name}-${next}`;
      next += 1;
      await run(id);
    }
  };
  await Promise.all(Array.from({ length: Number(options.parallel) }, lane));
  return count / ((performance.now() - startedAt) / 1_000);
}

async function eventsOf(temporal: Client, workflowId: string): Promise<{ all: number; workflowTasks: number }> {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const tasks = events?.filter((event) => event.workflowTaskCompletedEventAttributes != null) ?? [];
  return { all: events?.length ?? 0, workflowTasks: tasks.length };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}

void main();
