import type { Client } from '@temporalio/client';
import { readBatchWaiting } from 'temporal-file-conversion/internal/client/batch-waiting';
import type { JobInspection } from 'temporal-file-conversion/internal/client/inspect-job';
import { inspectJob } from 'temporal-file-conversion/internal/client/inspect-job';
import type { BatchState } from 'temporal-file-conversion/internal/shared/batch';
import { temporalTarget } from '../config/temporal-connection';
import type { CommandContext } from '../command-context';
import { readStackHolder } from '../stack/stack-holder';
import { nextStep } from './next-step';
import type { Stall } from './stall';

const answerWithinMs = 6_000;

/** Reads why something does not go on, whatever is broken: it never fails. No stall: nothing is in the way. */
export interface StallReader {
  job(workflowId: string): Promise<{ stall?: Stall }>;
  batch(name: string): Promise<{ stall?: Stall; state?: BatchState }>;
}

export function createStallReader(context: CommandContext, client: Client): StallReader {
  const { values } = context.config;
  const { connection, isNamed } = temporalTarget(values.temporal, context.env);
  const isLocal = !isNamed;
  const withNext = (stall: Stall, about: Omit<Parameters<typeof nextStep>[1], 'isLocal'>): { stall: Stall } => {
    const next = nextStep(stall.reason, { ...about, isLocal });
    return { stall: { ...stall, ...(next && { next }) } };
  };
  const unlessBroken = async <T>(read: () => Promise<T>): Promise<T | { stall: Stall }> => {
    // The server lists a worker for a minute after it has died: whether a stack of this machine runs is known better here.
    if (isLocal && !(await readStackHolder(values.state.dir))) {
      return withNext({ reason: 'stack', waitsFor: `a stack: none runs in ${values.state.dir}` }, {});
    }
    try {
      return await client.withDeadline(Date.now() + answerWithinMs, read);
    } catch {
      const waitsFor = `Temporal, which does not answer at ${connection.address ?? values.state.dir}`;
      return withNext({ reason: 'temporal', waitsFor }, {});
    }
  };
  return {
    job: (workflowId) =>
      unlessBroken(async () => {
        const job = await inspectJob(client, workflowId);
        const stall = stallOf(job);
        return stall ? withNext(stall, { app: job.app, workflowId }) : {};
      }),
    batch: (name) =>
      unlessBroken(async () => {
        const { state, waiting, since, app } = await readBatchWaiting(client, name);
        const known = state && { state };
        if (!waiting) return { ...known };
        const about = {
          ...(app !== undefined && { app }),
          workflowId: name,
          ...(state?.status === 'paused' && { batch: name }),
        };
        return { ...known, ...withNext({ ...waiting, ...(since !== undefined && { since }) }, about) };
      }),
  };
}

function stallOf({ waiting, since }: JobInspection): Stall | undefined {
  return waiting && { ...waiting, since };
}
