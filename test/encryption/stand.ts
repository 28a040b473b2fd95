import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { SweepSchedules } from '../../src/client/sweep-schedules';
import type { ConversionPolicies } from '../../src/job/types';
import { planRun, runBatch } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerError, answerOutput, answerRunning } from '../support/stub-service';
import { until } from '../support/until';

/** The fate of a job; part of its source's name. */
type Kind = 'fine' | 'refused' | 'flaky' | 'retrying' | 'parked' | 'cancelled';

/** Jobs of every kind, a batch and a schedule. The names of all files, folders and formats contain one mark. */
export interface Stand {
  rig: ConversionRig;
  /** Ids of the jobs by kind. */
  ids: Record<Kind, string>;
}

/** @param mark lower-case letters only, since names of formats begin with it. */
export async function fillStand(
  mark: string,
  temporal: { address: string; namespace: string; dataConverter?: DataConverter },
): Promise<Stand> {
  const rig = await startRig({ temporal });
  answerByName(rig);
  const folder = path.join(rig.folder, `${mark}folder`);
  await mkdir(folder);
  const sourceOf = (kind: Kind) => path.join(folder, `${mark}name-${kind}.${mark}in`);
  const start = async (kind: Kind, policies: ConversionPolicies = {}) => {
    await writeFile(sourceOf(kind), '# A report\n');
    const destination = path.join(folder, `${mark}result-${kind}.out`);
    return rig.client.start({
      source: sourceOf(kind),
      input: `${mark}in`,
      // A lack of vCredits parks all jobs of the same formats, so this job has its own.
      output: kind === 'parked' ? `${mark}scarce` : `${mark}out`,
      destination,
      policies: { ...quickPolicies, ...policies },
    });
  };
  const [fine, refused, flaky, retrying, parked, cancelled] = await Promise.all([
    start('fine'),
    start('refused'),
    start('flaky'),
    start('retrying', { retryInitialInterval: '1 hour', retryMaximumInterval: '1 hour' }),
    start('parked'),
    start('cancelled'),
  ]);
  await Promise.all([fine.result(), flaky.result(), expect(refused.result()).rejects.toThrow(`${mark}name`)]);
  await until('it converts', async () => (await cancelled.state()).phase === 'converting');
  await cancelled.cancel();
  await expect(cancelled.result()).rejects.toThrow();
  await until('it is parked', async () => (await parked.state()).phase === 'parked');
  const pending = async () => (await retrying.describe()).raw.pendingActivities?.[0]?.lastFailure;
  await until('its first attempt has failed', async () => Boolean(await pending()));

  const { results } = await runBatch(
    rig.client,
    await planRun(folder, 2, {
      change: (row) => ({
        ...row,
        input: `${mark}in`,
        output: `${mark}out`,
        ...(row.item === 2 && { source: row.source.replace('2.md', `${mark}name-gone.md`) }),
      }),
    }),
  );
  expect(results.map(({ status }) => status)).toEqual(['succeeded', 'failed']);

  await sweepOnce(rig, mark, folder);
  const ids = {
    fine: fine.workflowId,
    refused: refused.workflowId,
    flaky: flaky.workflowId,
    retrying: retrying.workflowId,
    parked: parked.workflowId,
    cancelled: cancelled.workflowId,
  };
  return { rig, ids };
}

async function sweepOnce(rig: ConversionRig, mark: string, folder: string): Promise<void> {
  const name = `sweep-${randomUUID()}`;
  const schedules = new SweepSchedules({ client: rig.temporal, taskQueue: rig.taskQueue, app: 'stub' });
  const from = path.join(folder, `${mark}incoming`);
  await mkdir(from);
  await writeFile(path.join(from, `${mark}name-swept.md`), '# A report\n');
  await schedules.create({
    name,
    times: { everyMs: 365 * 24 * 3600_000 },
    from,
    to: `${mark}out`,
    out: path.join(folder, `${mark}outgoing`),
    batchFolder: path.join(folder, name),
    settledForMs: 1,
    policies: quickPolicies,
  });
  await schedules.trigger(name);
  const lastRun = async () => (await schedules.describe(name)).info.recentActions[0]?.action.workflow.workflowId;
  await until('the sweep has begun', async () => (await lastRun()) !== undefined);
  const sweep: unknown = await rig.temporal.workflow.getHandle((await lastRun()) ?? '').result();
  expect(sweep).toMatchObject({ status: 'completed', succeeded: 1 });
}

function answerByName({ stub }: ConversionRig): void {
  const attempts = new Map<string, number>();
  stub.on('upload/file', (seen, response) => {
    const kind = /-(\w+)\./.exec(/filename="([^"]+)"/.exec(seen.body.toString('latin1'))?.[1] ?? '')?.[1] ?? 'fine';
    const attempt = (attempts.get(kind) ?? 0) + 1;
    attempts.set(kind, attempt);
    if (kind === 'refused') answerError(response, 400, 'NOT_VALID_EXTENSION');
    else if (kind === 'retrying' || (kind === 'flaky' && attempt === 1)) response.writeHead(502).end('<html>');
    else answerOutput(response, { connector: `${kind}-${randomUUID()}`, size: 1 });
  });
  stub.on('convert/file', ({ connector }, response) => {
    if (connector.startsWith('parked')) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else answerRunning(response, connector);
  });
  stub.on('task/response', (seen, response) => {
    const id = seen.connector;
    if (id.startsWith('cancelled')) answerOutput(response, { entity: { id, status: 'running' }, result: {} });
    else stub.answerAsAlways(seen, response);
  });
}
