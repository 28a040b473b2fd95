import { CancellationScope, CancelledFailure, isCancellation } from '@temporalio/workflow';
import { failureCodes, type ConvertFileInput, type ConvertFileResult } from '../../shared/activities';
import { readFailure } from './job-failure';
import type { JobParts } from './job-parts';
import { wasReset } from './job-progress';

interface SubmitTurn {
  connector: string;
  /** Size of the source, when this job uploaded it. */
  sourceBytes: number | undefined;
  deadlineMs: number;
}

/** Submits once. While the job is parked, the activity retries by itself without adding to the history. */
export function submitConversion(job: JobParts, turn: SubmitTurn): Promise<ConvertFileResult> {
  if (job.credits.isParked) return submitUntilRestored(job, turn);
  job.credits.forgetRestored();
  return submit(job, { ...turn, askAtOnce: false });
}

/** While the job is parked: restarts the activity, which then submits at once, whenever credits are restored. */
async function submitUntilRestored(job: JobParts, turn: SubmitTurn): Promise<ConvertFileResult> {
  const { credits } = job;
  for (let askAtOnce = credits.isRestored(); ; askAtOnce = true) {
    credits.forgetRestored();
    const scope = new CancellationScope();
    const submitted = scope.run(() => submit(job, { ...turn, askAtOnce }));
    const settled = submitted.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([settled, credits.untilRestored().catch(() => undefined)]);
    // Cancels an activity between two attempts at once; a running attempt is completed.
    if (credits.isRestored()) scope.cancel();
    try {
      return await submitted;
    } catch (error) {
      const endedByUs = credits.isRestored() && !CancellationScope.current().consideredCancelled;
      if (!isCancellation(error) || !endedByUs) throw error;
      job.progress.requests += requestsOfCut(error);
    }
  }
}

async function submit(
  { input, policies, name, output, activities, progress, callbacks, credits, room, leftovers }: JobParts,
  { connector, sourceBytes, deadlineMs, askAtOnce }: SubmitTurn & { askAtOnce: boolean },
): Promise<ConvertFileResult> {
  const parked = credits.submitDetails(askAtOnce);
  if (!parked) progress.enter('submitting', room.waitsFor);
  const request: ConvertFileInput = {
    app: input.app,
    connector,
    sourceName: name,
    output,
    ...(input.input !== undefined && { input: input.input }),
    ...(input.parameters && { parameters: input.parameters }),
    ...(input.mode === 'sync' && { mode: 'sync' }),
    ...(input.destination !== undefined && { destination: input.destination }),
    onExisting: policies.onExisting,
    // The result is assumed to be about as large as the source.
    ...room.needed(input.destination === undefined ? undefined : sourceBytes),
    ...leftovers.marked,
    ...(parked && { parked }),
    ...(credits.restoredAt !== undefined && { restoredAt: credits.restoredAt }),
    // An activity scheduled before the reset is part of this run's history, but its input lacks the flag.
    ...(wasReset() && { afterReset: true }),
    nonce: callbacks.next(),
  };
  const summary = parked ? `${progress.summary}, waits for vCredits` : progress.summary;
  const options = { summary, deadlineMs: Math.max(deadlineMs, policies.submitTimeoutMs) };
  const accepted = await activities.convertFile(request, options);
  room.over();
  if (!accepted.skipped) {
    if (accepted.afterReset) progress.charge.foundOpen();
    progress.charge.accepted(accepted.report.taskId);
    progress.taskId = accepted.report.taskId;
    progress.requests += accepted.requests;
  }
  return accepted;
}

/** Requests of an activity that was cancelled right after a refusal; unknown when cancelled between two attempts. */
function requestsOfCut(error: unknown): number {
  const last = error instanceof CancelledFailure ? error.cause : undefined;
  return last ? readFailure(last, failureCodes.submitDeadline).requests : 0;
}
