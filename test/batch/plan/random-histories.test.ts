import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutJob } from '../../../src/batch/batch-steps';
import { addToLedger } from '../../../src/batch/ledger';
import type { BatchItem } from '../../../src/batch/model/types';
import type { BatchItemResult } from '../../../src/batch/model/state';
import { markOf } from '../../../src/job/job-outcome';
import { createLocalFiles } from '../../../src/storage/local-files';
import { chanceOf } from '../../support/chance';
import { addFiles, folderUri, makeTree } from '../folder';
import { plan, readItems, retry, runFolder, sha256, writeResults } from './planning';

/*
 * Batches over one file, in which everything is left to chance: what the file holds, the options, the policies, how each conversion
 * ends, what becomes of the result, and whether the end of a run gets into the ledger. A strict accountant checks each job.
 */

const histories = 80;
const runs = 8;
const ends = [
  ...(['delivered', 'accepted', 'unknown', 'failed', 'refused', 'suspect', 'skipped'] as const),
  // The run was cancelled before the job began; the job failed before it sent anything.
  ...(['cancelled', 'blocked'] as const),
];

interface Job {
  item: BatchItem;
  /** Content and options. */
  conversion: string;
  end: (typeof ends)[number];
  policy: 'fail' | 'resubmit';
  again: boolean;
}

/** Knows what was paid for, without the ledger. */
class Accountant {
  private done: string | undefined;
  private suspect: string | undefined;
  /** Conversions that brought nothing and may have been charged, since the last one that was marked for them; with their tasks. */
  private readonly open = new Map<string, string | undefined>();
  private submits = 0;

  /** Does what the job would do. @throws if it must not. */
  async convert(job: Job): Promise<BatchItemResult> {
    const { item, conversion, end } = job;
    const { earlier } = item;
    const fetched = earlier?.taskId;
    if (end === 'cancelled') return withoutJob(item);
    const ended = { item: item.item, workflowId: 'job', runId: 'run' };
    const unsent = { charge: earlier?.charge ?? 'no', ...markOf(earlier?.possiblyChargedExtra) } as const;
    if (end === 'blocked' && fetched === undefined)
      return { ...ended, status: 'failed', code: 'X', message: 'x', ...unsent };
    if (end === 'skipped' && fetched === undefined && !item.replaces && existsSync(fileURLToPath(item.destination))) {
      return { ...ended, status: 'skipped', ...unsent };
    }
    const task = fetched === undefined ? this.submit(job) : this.fetch(conversion, fetched);
    const isMarked = fetched === undefined && earlier?.charge === 'maybe';
    const marks = markOf((earlier?.possiblyChargedExtra ?? 0) + (isMarked ? 1 : 0));
    const content = conversion.slice(0, 1);
    const source = { bytes: content.length, sha256: sha256(content) };
    const failed = { ...ended, status: 'failed', code: 'X', message: 'x', source, ...marks } as const;
    switch (end) {
      case 'skipped':
      case 'delivered': {
        const result = `pdf of ${conversion}`;
        await addFiles(path.dirname(fileURLToPath(item.destination)), { 'a.pdf': result });
        this.done = conversion;
        this.open.delete(conversion);
        const output = { uri: item.destination, name: 'a.pdf', bytes: result.length, sha256: sha256(result) };
        return { ...ended, status: 'succeeded', charge: 'yes', taskId: task, source, output, ...marks };
      }
      case 'suspect':
        this.suspect = conversion;
        this.open.delete(conversion);
        return { ...failed, status: 'suspect', charge: 'yes', taskId: task };
      case 'unknown':
        if (fetched !== undefined) return this.accepted(conversion, { ...failed, taskId: task });
        this.open.set(conversion, undefined);
        return { ...failed, charge: 'maybe' };
      case 'accepted':
        return this.accepted(conversion, { ...failed, taskId: task });
      case 'failed':
      case 'blocked':
      case 'refused':
        if (fetched !== undefined) return this.accepted(conversion, { ...failed, taskId: task });
        return { ...failed, charge: 'no', ...(end === 'refused' && { code: 'FAILED_CONVERT' }) };
    }
  }

  private submit({ item: { earlier }, conversion, policy, again }: Job): string {
    const mayBePaid = [...this.open.keys()].join();
    if (!again && this.done === conversion) throw new Error(`${conversion} was delivered`);
    if (!again && this.suspect === conversion) throw new Error(`${conversion} was paid for, and is suspect`);
    if (!again && this.open.has(conversion) && policy === 'fail') throw new Error(`${conversion} may be paid for`);
    if (mayBePaid && earlier?.charge !== 'maybe') throw new Error(`${mayBePaid} may be paid for, and there is no mark`);
    this.open.clear();
    this.suspect = undefined;
    this.submits += 1;
    return `task-${this.submits}`;
  }

  private fetch(conversion: string, task: string): string {
    if (this.open.get(conversion) !== task) throw new Error(`${task} is no task of ${conversion}`);
    return task;
  }

  private accepted(conversion: string, failed: Omit<BatchItemResult, 'charge'> & { taskId: string }): BatchItemResult {
    this.open.set(conversion, failed.taskId);
    return { ...failed, charge: 'yes' };
  }
}

it.each(Array.from({ length: histories }, (_, index) => index + 1))(
  'history %i pays for nothing twice',
  async (seed) => {
    const { random, mayBe, pick } = chanceOf(seed);
    const cwd = await makeTree({ 'in/a.md': 'A' });
    const accountant = new Accountant();
    const told: string[] = [];
    for (let step = 1; step <= runs; step += 1) {
      const content = pick(['A', 'B']);
      // The other file is there because no run is made when there is nothing to convert.
      await addFiles(cwd, { 'in/a.md': content, [`in/new-${step}.md`]: 'new' });
      const fate = random();
      if (fate < 0.2) await rm(path.join(cwd, 'out/a.pdf'), { force: true });
      else if (fate < 0.4) await addFiles(cwd, { 'out/a.pdf': 'mine' });
      const [policy, end, again] = [pick(['fail', 'resubmit'] as const), pick(ends), mayBe(0.1)];
      const options = { onUnknownOutcome: policy, again, heedsRefusals: mayBe(0.5) };
      const parameters = pick([{}, { parameters: { dpi: 72 } }]);
      const isRetry = step > 1 && mayBe(0.25);
      const what = { sources: ['in'], to: 'pdf', ...parameters };
      const { run } = isRetry ? await retry(cwd, options) : await plan(cwd, { what, ...options });
      told.push(`${isRetry ? 'retry' : 'run'} of ${content} ${JSON.stringify({ ...parameters, policy, again, end })}`);
      if (!run) continue;
      const results: BatchItemResult[] = [];
      for (const item of await readItems(cwd, run.number)) {
        const isOther = !item.source.endsWith('/a.md');
        const conversion = content + JSON.stringify(item.parameters ?? {});
        if (isOther || item.done || item.kept || item.refused) results.push(withoutJob(item));
        else results.push(await accountant.convert({ item, conversion, end, policy, again }).catch(explained));
      }
      await writeResults(cwd, results, run.number);
      const ledger = { folder: folderUri(runFolder(cwd, run.number)), vcredits: 0 };
      if (mayBe(0.7)) await addToLedger(createLocalFiles(), ledger, { jobKey: 'merge', attempt: 1 });
    }

    function explained(error: unknown): never {
      throw new Error(`${told.join('\n')}\nconverts again: ${(error as Error).message}`);
    }
  },
);
