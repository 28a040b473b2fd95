import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeFailure, decodePayloads, type History } from '../../src/history/payloads';
import { runFiles } from '../../src/batch/run-files';
import { readJobHistory } from '../../src/history/job-history';
import type { BatchItem } from '../../src/batch/model/types';
import type { BatchItemResult } from '../../src/batch/model/state';
import type { EarlierRuns } from '../../src/job/charge';
import { sourceName } from '../../src/job/types';
import type { StubService } from './stub-service';

/**
 * The invariant of money: conversions of one content with one set of options ≤ 1 + the reported open submits. The service ran one
 * conversion for each file that a batch delivered, and no other that a row does not account for, as accepted (`charge: yes`), as possible
 * (`maybe`) or in its count of extra ones. The service's records, the rows of all runs of the batch, their reports and the histories of the
 * jobs must agree.
 */

/** A conversion that the service charges. */
export interface Conversion {
  taskId: string;
  /** Name of the uploaded file. */
  file: string;
}

export const conversionsOf = (stub: StubService): Conversion[] =>
  [...stub.conversions].map(([taskId, file]) => ({ taskId, file }));

/**
 * Everything that violates the invariant, one line each.
 * @param runs folders of the batch's runs, oldest first. Source names must be unique.
 * @param client compares the jobs' histories too.
 */
export async function chargeProblems(
  conversions: readonly Conversion[],
  runs: readonly string[],
  client?: Client,
): Promise<string[]> {
  const rows = new Map<string, BatchItemResult[]>();
  const problems: string[] = [];
  for (const run of runs) {
    const results = await readRun(run);
    for (const { item, result } of results) rows.set(item.source, [...(rows.get(item.source) ?? []), result]);
    problems.push(
      ...(await reportProblems(
        run,
        results.map(({ result }) => result),
      )),
    );
  }
  for (const [source, results] of rows) {
    const file = decodeURIComponent(path.basename(source));
    const own = conversions.filter((each) => each.file === file).map(({ taskId }) => taskId);
    problems.push(...rowProblems(own, results).map((problem) => `${file}: ${problem}`));
    const last = results.at(-1);
    if (client && last) problems.push(...(await historyProblems(client, last)).map((problem) => `${file}: ${problem}`));
  }
  const names = new Set([...rows.keys()].map((source) => decodeURIComponent(path.basename(source))));
  const others = conversions.filter(({ file }) => !names.has(file));
  return [...problems, ...others.map(({ file }) => `a conversion of ${file}, which no row names`)];
}

/** @param ran tasks that the service ran for the row. */
function rowProblems(ran: readonly string[], results: readonly BatchItemResult[]): string[] {
  const last = results.at(-1);
  // A row may also be recognised as delivered by a job that this batch had not heard of yet.
  const isDelivered = ({ status, charge }: BatchItemResult) =>
    status === 'succeeded' || status === 'suspect' || (status === 'skipped' && charge === 'yes');
  const delivered = new Set(results.filter(isDelivered).map(({ taskId }) => taskId));
  const open = last && !isDelivered(last) && last.charge === 'yes' ? last.taskId : undefined;
  const told = [...delivered, open].filter((taskId) => taskId !== undefined);
  const unknown = told.filter((taskId) => !ran.includes(taskId));
  const more = ran.filter((taskId) => !told.includes(taskId));
  // Every possible charge must be reported and counted.
  const isOpen = last?.charge === 'maybe' && last.status !== 'succeeded';
  const allowed = (last?.possiblyChargedExtra ?? 0) + (isOpen ? 1 : 0);
  return [
    ...unknown.map((taskId) => `task ${taskId}, which the service never ran`),
    ...(more.length > allowed
      ? [`${ran.length} conversions, of which ${more.length} are told nowhere: ${JSON.stringify(last)}`]
      : []),
  ];
}

async function historyProblems(client: Client, row: BatchItemResult): Promise<string[]> {
  const { workflowId, runId } = row;
  if (workflowId === undefined || runId === undefined) return [];
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const { charge: left } = await readJobHistory(events, client.options.loadedDataConverter);
  const { charge, taskId, possiblyChargedExtra } = row;
  const isSame = left.charge === charge && (charge !== 'yes' || left.taskId === taskId);
  if (isSame && left.possiblyChargedExtra === possiblyChargedExtra) return [];
  return [
    `its history says ${JSON.stringify(left)}, its row ${JSON.stringify({ charge, taskId, possiblyChargedExtra })}`,
  ];
}

async function reportProblems(run: string, results: readonly BatchItemResult[]): Promise<string[]> {
  const text = await readFile(path.join(run, 'report.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return [];
  const { possiblyChargedTwice } = JSON.parse(text) as { possiblyChargedTwice: { count: number } };
  const marked = results.filter((result) => result.possiblyChargedTwice).length;
  return possiblyChargedTwice.count === marked
    ? []
    : [`${run}: its report tells of ${possiblyChargedTwice.count} possibly charged twice, its rows of ${marked}`];
}

/**
 * Conversions that no job accounts for, one line each, according to the histories of all jobs of these task queues, read event by event.
 * One content with one set of options is charged once over all runs of a job, unless one reports possible extra charges; a running one has
 * not reported yet.
 */
export async function unreportedConversions(
  conversions: readonly Conversion[],
  { client, taskQueues }: { client: Client; taskQueues: readonly string[] },
): Promise<string[]> {
  const queues = taskQueues.map((name) => `'${name}'`).join(', ');
  const query = `TaskQueue IN (${queues}) AND WorkflowType = 'conversionJob'`;
  const jobs: JobAccount[] = [];
  if (conversions.length > 0) {
    for await (const { workflowId, history } of client.workflow.list({ query }).intoHistories({ concurrency: 10 })) {
      jobs.push(await readAccount(client, { workflowId, history: history as History }));
    }
  }
  const told = new Set(jobs.flatMap(({ accepted, free }) => [...accepted, ...free]));
  const problems: string[] = [];
  for (const runs of groupBy(jobs, ({ paidFor }) => paidFor).values()) {
    const paid = new Set(runs.flatMap(({ accepted }) => [...accepted]));
    const extra = Math.max(...runs.map(({ left, isOver }) => (isOver ? (left.possiblyChargedExtra ?? 0) : Infinity)));
    if (paid.size > 1 + extra) {
      problems.push(
        `${runs[0]?.workflowId} was charged ${paid.size} times over ${runs.length} runs, which tell of ${1 + extra}`,
      );
    }
  }
  for (const file of new Set(conversions.map((each) => each.file))) {
    const unreported = conversions.filter((each) => each.file === file && !told.has(each.taskId));
    const own = jobs.filter((job) => job.file === file);
    const allowed = own.reduce((sum, { left, isOver }) => {
      if (!isOver) return Number.POSITIVE_INFINITY;
      return sum + (left.possiblyChargedExtra ?? 0) + (left.charge === 'maybe' ? 1 : 0);
    }, 0);
    if (unreported.length > allowed)
      problems.push(`${file}: ${unreported.length} conversions are told by none of its jobs`);
  }
  return problems;
}

function groupBy<T>(all: readonly T[], keyOf: (each: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of all) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each]);
  return groups;
}

interface JobAccount {
  workflowId: string;
  /** One content with one set of options; each `again` counts separately. */
  paidFor: string;
  file: string;
  isOver: boolean;
  accepted: Set<string>;
  /** Tasks that failed at the service. */
  free: Set<string>;
  left: EarlierRuns;
}

async function readAccount(
  client: Client,
  { workflowId, history }: { workflowId: string; history: History },
): Promise<JobAccount> {
  const converter = client.options.loadedDataConverter;
  const { input, charge: left, isOver } = await readJobHistory(history.events, converter);
  const [accepted, free] = [new Set<string>(), new Set<string>()];
  for (const {
    activityTaskCompletedEventAttributes: done,
    activityTaskFailedEventAttributes: failed,
  } of history.events ?? []) {
    const [value] = (await decodePayloads(converter, done?.result?.payloads)) as [unknown];
    const { report } = (value ?? {}) as { report?: { taskId: string } };
    if (report) accepted.add(report.taskId);
    const error = await decodeFailure(converter, failed?.failure);
    const { origin, taskId } = (error instanceof ApplicationFailure ? (error.details?.[0] ?? {}) : {}) as {
      origin?: string;
      taskId?: string;
    };
    if (origin === 'task' && taskId !== undefined) free.add(taskId);
  }
  for (const taskId of free) accepted.delete(taskId);
  const { app, source, output, input: from, parameters, recall } = input;
  const content = left.source?.sha256 ?? source;
  const again = recall?.again ? [...accepted] : undefined;
  return {
    workflowId,
    paidFor: JSON.stringify([workflowId, app, content, output, from, parameters, again]),
    file: sourceName(input.source),
    isOver,
    accepted,
    free,
    left,
  };
}

/** Rows without a result are left to the next run. */
async function readRun(folder: string): Promise<{ item: BatchItem; result: BatchItemResult }[]> {
  const lines = async (name: string) =>
    (await readFile(path.join(folder, name), 'utf8').catch(() => '')).split('\n').filter(Boolean);
  const items = (await lines(runFiles.manifest)).map((line) => JSON.parse(line) as BatchItem);
  const results = new Map(
    (await lines(runFiles.results)).map((line) => {
      const result = JSON.parse(line) as BatchItemResult;
      return [result.item, result] as const;
    }),
  );
  return items.flatMap((item) => {
    const result = results.get(item.item);
    return result ? [{ item, result }] : [];
  });
}
