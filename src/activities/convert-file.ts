import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { endpoints } from '../contract/endpoints';
import { ConversionApiError } from '../http/errors';
import {
  readAccepted,
  readFence,
  type ConvertFileInput,
  type ConvertFileResult,
  type SendingFence,
  type TaskReport,
} from '../job/activities';
import { runAttempt, wakeParked, type ActivityAttempt, type ActivityDependencies } from './activity-attempt';
import { createAwaitQuick, longAgeMs } from './await-quick';
import { reportTask } from './check-task';
import { withAdvice } from './failure';
import { planDestination } from './job-destination';
import { kindOf } from './pauses';
import type { Probe } from './refusal-watch';
import { SentOutcomes } from './sent-outcomes';

/**
 * Submits the conversion (`convert/file`). **Not idempotent**: it costs vCredits, and there is no idempotency key.
 *
 * A fence precedes the first byte: an acknowledged heartbeat `{ phase: 'sending' }`. A worker lost without it has sent nothing. With it
 * the outcome is unknown, unless the next attempt runs in the same process, which only lost its connection to Temporal. The fence is
 * lowered when a response proves that nothing ran.
 *
 *     (nothing) --fence--> sending --refused, nothing ran--> waiting
 *                          sending --accepted, and quick---> awaiting, with the task
 */
export function createConvertFile(dependencies: ActivityDependencies) {
  const { api, files, checks, refusals, callbackUrl } = dependencies;
  const outcomes = new SentOutcomes();

  const awaitQuick = createAwaitQuick(dependencies);

  /** `onFence` is called before the fence may exist. */
  async function submit(
    input: ConvertFileInput,
    attempt: ActivityAttempt,
    onFence: () => void,
  ): Promise<ConvertFileResult> {
    const { requests, heartbeat, turn, previousDetails, run, failure } = attempt;
    const resetRunId = attempt.resetSince(input.knownRunId);
    if (resetRunId !== undefined) return { skipped: true, resetRunId };
    const known = readAccepted(previousDetails);
    if (known) return known;
    const fence = readFence(previousDetails);
    if (fence) {
      failure.callback = fence.callback === true;
      heartbeat.start();
      return outcomes.ofLastAttempt(attempt);
    }
    failure.neededBytes = input.neededBytes;
    if (input.destination !== undefined) {
      const plan = await planDestination(files, { ...input, destination: input.destination }, failure);
      if (plan.kind === 'skip') return { skipped: true };
      await checks.assertPossible(input, attempt.signal);
    }
    const service = api(input.app);
    const { nonce } = input;
    const submission = run && nonce !== undefined ? { workflowId: run.workflowId, nonce } : undefined;
    const callback = submission && callbackUrl?.(input.app, submission);
    failure.callback = callback !== undefined;
    const marks = failure.callback ? { callback: true as const } : {};
    const accepted = (report: TaskReport) => ({ skipped: false as const, report, requests, ...marks });
    let credits: Probe | undefined;
    const raiseFence = async () => {
      const { parked, readyAt } = input;
      const { isLast: anyway, firstProbeMs: firstPauseMs } = attempt;
      credits = refusals.ask({ key: kindOf(input), readyAt, isParked: parked !== undefined, firstPauseMs, anyway });
      onFence();
      try {
        await heartbeat.record({ phase: 'sending', ...marks } satisfies SendingFence);
      } catch (error) {
        // Temporal may have stored the fence without acknowledging it. Nothing was sent, so lower it.
        await heartbeat.record({ phase: 'waiting' }).catch(() => heartbeat.beat());
        throw error;
      }
      heartbeat.start();
      if (attempt.ageMs() > longAgeMs) heartbeat.beat();
      failure.requests = requests;
      failure.sentUnrepeatable = true;
    };
    let snapshot;
    try {
      // Cancellation only ends the wait in the queue. A request in flight is completed, since its response is the only proof.
      snapshot = await service.convertFile({
        connector: input.connector,
        output: input.output,
        input: input.input,
        parameters: input.parameters,
        callback,
        mode: input.mode,
        signal: whenGraceIsOver(),
        turn: { ...turn, beforeSend: raiseFence },
      });
    } catch (error) {
      if (!(error instanceof ConversionApiError)) throw error;
      const { taskId } = error;
      if (taskId !== undefined) return accepted({ taskId, connector: taskId, finished: false, warnings: {} });
      const { code, message } = error;
      if (code === 'INSUFFICIENT_VCREDITS') {
        failure.probeAfterMs = credits?.refused({ code, message: withAdvice(message, code, failure) });
      }
      if (failure.sentUnrepeatable === true && !error.mayHaveExecuted) {
        failure.sentUnrepeatable = false;
        await heartbeat.record({ phase: 'waiting' });
      }
      throw error;
    } finally {
      credits?.ended();
    }
    if (credits?.accepted()) void wakeParked(attempt.context, input.app);
    const taskId = snapshot.taskId ?? snapshot.connector;
    if (taskId === undefined && snapshot.error === undefined) throw nameless();
    if (taskId !== undefined) failure.taskId = taskId;
    const submit = accepted(reportTask(snapshot, taskId ?? '', failure));
    return submit.report.finished || snapshot.error ? submit : awaitQuick(submit, input, attempt, submission);
  }

  return (input: ConvertFileInput): Promise<ConvertFileResult> => {
    const outcome = runAttempt(dependencies, { step: 'submit', app: input.app, parking: input }, (attempt) =>
      submit(input, attempt, () => outcomes.keep(attempt, outcome)),
    );
    return outcome;
  };
}

function nameless(): ConversionApiError {
  return new ConversionApiError({
    code: 'UNREADABLE_RESPONSE',
    message: `${endpoints.convertFile} answered without an entity id and without a connector: the conversion cannot be followed.`,
    endpoint: endpoints.convertFile,
    mayHaveExecuted: true,
  });
}

/** Extra time for a response that is already in flight. */
const lastMomentMs = 2_000;

/** Aborts just after the grace period of a worker that shuts down, but not when the job is cancelled. */
function whenGraceIsOver(): AbortSignal {
  const { cancellationSignal } = Context.current();
  const over = new AbortController();
  const look = () => {
    const { reason } = cancellationSignal as { reason: unknown };
    if (!(reason instanceof CancelledFailure) || reason.message !== 'WORKER_SHUTDOWN') return;
    const giveUp = () => over.abort(new Error('the worker was shut down, and its grace time was over'));
    setTimeout(giveUp, lastMomentMs).unref();
  };
  if (cancellationSignal.aborted) look();
  else cancellationSignal.addEventListener('abort', look, { once: true });
  return over.signal;
}
