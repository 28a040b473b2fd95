import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SweepSchedules, type SweepScheduleRequest } from '../../src/client/sweep-schedules';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import { quickPolicies, rigOfEachTest } from './conversion-worker';
import { until } from './until';

/** The counts of a sweep that has done nothing. */
export const counts = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0, kept: 0 };

/** A rig for each test of the calling file, with schedules that sweep its folder `in`. */
export function sweepsOfEachTest(options: Parameters<typeof rigOfEachTest>[0] = {}) {
  const made: string[] = [];
  // Registered first, so that it runs before the rig closes.
  afterEach(async () => {
    for (const name of made.splice(0))
      await schedules()
        .delete(name)
        .catch(() => undefined);
  });
  const rig = rigOfEachTest(options);
  beforeEach(() => mkdir(path.join(rig.folder, 'in')));
  const schedules = () => new SweepSchedules({ client: rig.temporal, taskQueue: rig.taskQueue, app: 'stub' });

  /** Creates a schedule that is next due in a year, and whose files settle at once. */
  async function schedule(change: Partial<SweepScheduleRequest> = {}): Promise<string> {
    const name = `sweep-${randomUUID()}`;
    made.push(name);
    await schedules().create({
      name,
      times: { everyMs: 365 * 24 * 3600_000 },
      from: path.join(rig.folder, 'in'),
      to: 'pdf',
      out: path.join(rig.folder, 'out'),
      batchFolder: path.join(rig.folder, 'batches', name),
      settledForMs: 1,
      policies: quickPolicies,
      ...change,
    });
    return name;
  }

  async function put(name: string, text: string | Buffer): Promise<string> {
    const file = path.join(rig.folder, 'in', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  const sweepsOf = async (name: string) =>
    (await schedules().describe(name)).info.recentActions.map(({ action }) => action.workflow);

  /** Triggers the schedule and waits for its sweep. */
  async function sweep(name: string): Promise<ConversionBatchResult> {
    // Only the last ten are listed, so their number can't be compared.
    const newest = async () => (await sweepsOf(name)).at(-1)?.firstExecutionRunId;
    const before = await newest();
    await schedules().trigger(name);
    await until('the sweep has begun', async () => (await newest()) !== before);
    return resultOf((await sweepsOf(name)).at(-1));
  }

  async function resultOf(workflow: { workflowId: string } | undefined): Promise<ConversionBatchResult> {
    return (await rig.temporal.workflow.getHandle(workflow?.workflowId ?? '').result()) as ConversionBatchResult;
  }

  return { rig, schedules, schedule, put, sweepsOf, sweep, resultOf };
}
