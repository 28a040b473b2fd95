import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { runFiles } from '../../src/batch/run-files';
import { readJobHistory } from '../../src/history/job-history';
import type { BatchItem, BatchItemResult } from '../../src/shared/batch';
import type { StubService } from './stub-service';

/**
 * The invariant of money: the service ran one conversion for each file that a batch delivered, and no other that a row does not own up to, as
 * accepted (`charge: yes`), as possible (`maybe`) or as possibly charged twice. The service's ledger, the rows of all runs of the batch, their
 * reports and the histories of the jobs must tell the same.
 */

/** A conversion that the service charges. */
export interface Conversion {
  taskId: string;
  /** Name of the file that was uploaded. */
  file: string;
}

export function conversionsOf(stub: StubService): Conversion[] {
  return [...stub.conversions].map(([taskId, file]) => ({ taskId, file }));
}

/**
 * Everything that contradicts the invariant, a line each.
 *
 * @param runs folders of the batch's runs, the first one first. No two sources may have one name.
 * @param client to compare the jobs' histories too.
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
  const delivered = new Set(results.filter(({ status }) => status === 'succeeded').map(({ taskId }) => taskId));
  const open = last?.status !== 'succeeded' && last?.charge === 'yes' ? last.taskId : undefined;
  const told = [...delivered, open].filter((taskId) => taskId !== undefined);
  const unknown = told.filter((taskId) => !ran.includes(taskId));
  const more = ran.filter((taskId) => !told.includes(taskId));
  const isMarked = last?.possiblyChargedTwice === true;
  const allowed = isMarked ? Number.POSITIVE_INFINITY : last?.charge === 'maybe' && last.status !== 'succeeded' ? 1 : 0;
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
  const { charge, taskId, possiblyChargedTwice = false } = row;
  if (
    left.charge === charge &&
    (charge !== 'yes' || left.taskId === taskId) &&
    !(left.possiblyChargedTwice && !possiblyChargedTwice)
  )
    return [];
  return [
    `its history says ${JSON.stringify(left)}, its row ${JSON.stringify({ charge, taskId, possiblyChargedTwice })}`,
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

/** Rows of a run that never told how they ended are left to the next one. */
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
