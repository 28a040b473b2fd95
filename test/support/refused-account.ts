import { randomUUID } from 'node:crypto';
import type { BatchHandle } from '../../src/client/batch-handle';
import { signalAppReady } from '../../src/client/operations/signal-app';
import type { BatchState } from '../../src/batch/model/state';
import { planRun, type RunRequest } from './batches';
import { quickPolicies, startRig, type ConversionRig } from './conversion-worker';
import { until } from './until';
import { whileTesting } from './while-testing';

/** Uses another app for each test, since batches of a failed test may still be waiting. */
export const refusedRigOfEachTest = (): ConversionRig =>
  whileTesting(
    () => startRig({ app: `refused-${randomUUID()}` }),
    (rig) => rig.close(),
    { before: beforeEach, after: afterEach },
  );

/** Parked jobs don't probe before the end of a test. */
export const patient = { ...quickPolicies, retryMaximumInterval: '1 hour' } as const;

/** Refuses uploads and submits after this many conversions, until `mend` is called. Polls and downloads are answered. */
export function refuseAfter(rig: ConversionRig, conversions: number, code = 'INVALID_CREDENTIAL') {
  const account = { isMended: false };
  rig.stub.refuse = ({ path }) => {
    const isNew = path === 'upload/file' || path === 'convert/file';
    return isNew && !account.isMended && rig.stub.conversions.size >= conversions ? code : undefined;
  };
  return { mend: () => (account.isMended = true) };
}

/** A run whose parked jobs wait for a signal. */
export const planRefused = (rig: ConversionRig, count: number, request: Partial<RunRequest> = {}) =>
  planRun(rig.folder, count, { request: { policies: patient, ...request } });

/** The recipients of appReady are read from the list, which lags behind the state of jobs. */
export async function untilListed({ app, temporal }: ConversionRig, batch: BatchHandle): Promise<void> {
  const { inFlight: jobs } = await batch.state();
  const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('they are listed', async () => (await temporal.workflow.count(parked)).count === jobs);
}

export async function sayReady(rig: ConversionRig, batch: BatchHandle): Promise<void> {
  const { app, temporal } = rig;
  await untilListed(rig, batch);
  expect(await signalAppReady(temporal, { app })).toMatchObject({ failed: 0 });
}

/** Waits until everything in flight is parked. */
export async function untilRefused(handle: BatchHandle): Promise<BatchState> {
  let state = await handle.state();
  await until('the account is refused', async () => {
    state = await handle.state();
    return state.needsAttention?.jobs === state.inFlight;
  });
  return state;
}
