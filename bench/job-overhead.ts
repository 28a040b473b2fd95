import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { FileConversionPlugin } from '../src/plugin';
import type { ConversionPolicies, ResultCheck } from '../src/job/types';
import { createConversionWorker } from '../src/worker';
import { app } from './support/app';
import { median, perSecond, round } from './support/figures';
import type { HandWrittenInput } from './support/hand-written';
import { handWrittenActivities } from './support/hand-written-activities';
import { startInstantService } from './support/instant-service';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';

/**
 * Jobs per second of `conversionJob`, whose worker has learned that the conversion is quick, against a bare workflow of four no-op activities, and against the workflow that is usually
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
const activitiesOfTheBare = 4;

const ways = ['job', 'bare', 'hand'] as const;
type Way = (typeof ways)[number];

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const source = path.join(folder, 'report.md');
  await writeFile(source, '# A report\n');
  const service = owns(await startInstantService());
  const connection = await NativeConnection.connect({ address: temporalAddress });
  const plugin = new FileConversionPlugin({ apps: { stub: { ...app, baseUrl: service.baseUrl } } });
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
  const workers = [jobWorker, bareWorker, handWorker];
  const running = workers.map((worker) => worker.run());
  const conversion = new FileConversionClient({ client: temporal, app: 'stub' });

  const check = options.check as ResultCheck | undefined;
  const job = async (id: string, policies: ConversionPolicies = check ? { check } : {}) => {
    const destination = path.join(folder, 'out', `${id}.pdf`);
    await conversion.convert({ source, output: 'pdf', destination, policies }, { workflowId: `job/${id}` });
  };
  const bare = async (id: string) => {
    if (check) return job(id, {});
    await temporal.workflow.execute('bareWorkflow', {
      workflowId: `bare/${id}`,
      taskQueue: 'bare',
      args: [activitiesOfTheBare],
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
  for (const way of ways) await rateOf(`warm-${way}`, 20, run[way]);
  const rates: Record<Way, number[]> = { job: [], bare: [], hand: [] };
  const cpuMs = { job: 0, bare: 0, hand: 0 };
  let requests = 0;
  for (let turn = 0; turn < Number(options.rounds); turn += 1) {
    // A B C, C B A, ...: a drift of the machine's speed hits all alike.
    for (const way of turn % 2 === 0 ? ways : [...ways].reverse()) {
      const requestsBefore = await service.ask<number>('requests');
      const before = process.cpuUsage();
      const rate = await rateOf(`${way}-${turn}`, jobsPerRound, run[way]);
      const { user, system } = process.cpuUsage(before);
      if (way === 'job') requests += (await service.ask<number>('requests')) - requestsBefore;
      rates[way].push(rate);
      cpuMs[way] += (user + system) / 1_000;
      console.log(`round ${turn + 1}  ${way.padEnd(4)}  ${rate.toFixed(1)} jobs/s`);
    }
  }
  const jobs = jobsPerRound * Number(options.rounds);
  const events = await eventsOf(temporal, 'job/job-0-0');

  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await connection.close();

  const ratioTo = (other: 'bare' | 'hand') =>
    round(median(rates.job.map((rate, turn) => rate / (rates[other][turn] ?? Number.NaN))));
  return {
    ratio: ratioTo('bare'),
    handWrittenRatio: ratioTo('hand'),
    jobsPerSecond: round(median(rates.job)),
    bareJobsPerSecond: round(median(rates.bare)),
    handWrittenJobsPerSecond: round(median(rates.hand)),
    // Of this process: client and worker, without the servers.
    cpuMsPerJob: round(cpuMs.job / jobs),
    bareCpuMsPerJob: round(cpuMs.bare / jobs),
    handWrittenCpuMsPerJob: round(cpuMs.hand / jobs),
    activitiesPerJob: events.activities,
    historyEventsPerJob: events.all,
    workflowTasksPerJob: events.workflowTasks,
    requestsPerJob: requests / jobs,
    jobsPerRound,
    rounds: Number(options.rounds),
  };
}

function rateOf(name: string, count: number, run: (id: string) => Promise<void>): Promise<number> {
  return perSecond({ count, lanes: Number(options.parallel) }, (index) => run(`${name}-${index}`));
}

async function eventsOf(temporal: Client, workflowId: string) {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const all = events ?? [];
  return {
    all: all.length,
    workflowTasks: all.filter((event) => event.workflowTaskCompletedEventAttributes).length,
    activities: all.filter((event) => event.activityTaskScheduledEventAttributes).length,
  };
}

void measureWithTemporal(main);
