import type { Client } from '@temporalio/client';
import { readBatchWaiting } from 'temporal-file-conversion/internal/client/operations/batch-waiting';
import { inspectJob, type JobInspection } from 'temporal-file-conversion/internal/client/operations/inspect-job';
import type { BatchState } from 'temporal-file-conversion/internal/shared/batch';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { temporalTarget } from '../config/temporal-connection';
import { readStackHolder } from '../stack/stack-record';
import type { NextStep, Stall } from './stall';

const answerWithinMs = 6_000;

/** Finds out why something does not progress. It never throws, whatever is broken; without a stall nothing is in the way. */
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
    // The server lists a worker for a minute after it died; whether a stack runs on this machine is known better here.
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

/** The command that helps with a stall; undefined when one can only wait. */
export function nextStep(
  reason: Stall['reason'],
  { app, isLocal, batch, workflowId = '' }: { isLocal: boolean; app?: string; batch?: string; workflowId?: string },
): NextStep | undefined {
  const ofApp = app === undefined ? '' : ` --app ${shellWord(app)}`;
  switch (reason) {
    case 'stack':
      return { why: 'Start it', command: 'fileconv up' };
    case 'worker':
      return { why: 'Start one', command: isLocal ? 'fileconv up' : 'fileconv worker' };
    case 'paused':
      if (batch !== undefined) return { why: 'Go on', command: `fileconv batch resume ${shellWord(batch)}` };
      return { why: 'Go on', command: `temporal workflow unpause --workflow-id ${shellWord(workflowId)}` };
    case 'credits':
      return { why: 'When vCredits were added', command: `fileconv credits restored${ofApp}` };
    case 'temporal':
      return isLocal
        ? { why: 'Start the stack', command: 'fileconv up' }
        : { why: 'What is broken', command: 'fileconv doctor' };
    case 'service':
    case 'account':
    case 'appProfile':
      return { why: 'What is broken', command: `fileconv doctor${ofApp}` };
    case 'attempt':
      return { why: 'Whether anything is broken', command: `fileconv doctor${ofApp}` };
    case 'sharedFolder':
      return { why: 'Workers and where they are', command: 'fileconv doctor' };
    case 'slot':
      return { why: 'Workers and their limit', command: 'fileconv doctor' };
    default:
      return undefined;
  }
}
