import { randomUUID } from 'node:crypto';
import type { BatchHandle } from '../../src/client/batch-handle';
import { tellReady } from '../../src/client/operations/tell-app';
import type { BatchState } from '../../src/batch/model/state';
import { planRun, type RunRequest } from './batches';
import { quickPolicies, startRig, type ConversionRig } from './conversion-worker';
import { until } from './until';
import { whileTesting } from './while-testing';

/** With another app for each test: batches of a test that failed may still wait. */
export const refusedRigOfEachTest = (): ConversionRig =>
  whileTesting(
    () => startRig({ app: `refused-${randomUUID()}` }),
    (rig) => rig.close(),
    { before: beforeEach, after: afterEach },
  );

/** Parked jobs ask by themselves no sooner than a test ends. */
export const patient = { ...quickPolicies, retryMaximumInterval: '1 hour' } as const;

/** Refuses uploads and submits after so many conversions, until it is fixed. Polls and downloads are answered. */
export function refuseAfter(rig: ConversionRig, conversions: number, code = 'INVALID_CREDENTIAL') {
  const account = { isMended: false };
  rig.stub.refuse = ({ path }) => {
    const isNew = path === 'upload/file' || path === 'convert/file';
    return isNew && !account.isMended && rig.stub.conversions.size >= conversions ? code : undefined;
  };
  return { mend: () => (account.isMended = true) };
}

/** A run whose parked jobs wait for a word. */
export const planRefused = (rig: ConversionRig, count: number, request: Partial<RunRequest> = {}) =>
  planRun(rig.folder, count, { request: { policies: patient, ...request } });

/** Who is told that the app is ready is read from the list, which lags behind the state of jobs. */
export async function untilListed({ app, temporal }: ConversionRig, batch: BatchHandle): Promise<void> {
  const { inFlight: jobs } = await batch.state();
  const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('they are listed', async () => (await temporal.workflow.count(parked)).count === jobs);
}

export async function sayReady(rig: ConversionRig, batch: BatchHandle): Promise<void> {
  const { app, temporal } = rig;
  await untilListed(rig, batch);
  expect(await tellReady(temporal, { app })).toMatchObject({ failed: 0 });
}

/** Everything in flight is parked. */
export async function untilRefused(handle: BatchHandle): Promise<BatchState> {
  let state = await handle.state();
  await until('the account is refused', async () => {
    state = await handle.state();
    return state.needsAttention?.jobs === state.inFlight;
  });
  return state;
}
