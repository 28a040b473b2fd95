import { ApplicationFailure, defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import { isWindow, maxWindow, type BatchCancel, type ItemUploaded, type ItemWaits } from '../../batch/model/types';
import type { BatchState } from '../../batch/model/state';
import {
  batchCancelSignal,
  batchPauseSignal,
  batchResumeSignal,
  batchStateQuery,
  batchWindowSignal,
  conversionItemUploadedSignal,
  conversionItemWaitsSignal,
  updateRefused,
} from '../../job/names';

/** Arguments are partial: anyone who may signal the workflow can send any payload. */
export interface ControlledBatch {
  state(): BatchState;
  whyNoPause(): string | undefined;
  pause(isPaused: boolean): void;
  setWindow(window: number): void;
  cancel(inFlightToo: boolean): void;
  itemWaits(word: Partial<ItemWaits> | undefined): void;
  itemUploaded(word: Partial<ItemUploaded> | undefined): void;
}

export function listenTo(batch: ControlledBatch): void {
  setHandler(defineQuery<BatchState>(batchStateQuery), () => batch.state());
  setHandler(defineSignal<[ItemWaits]>(conversionItemWaitsSignal), (word) => batch.itemWaits(word));
  setHandler(defineSignal<[ItemUploaded]>(conversionItemUploadedSignal), (word) => batch.itemUploaded(word));
  const refusal = () => batch.whyNoPause();
  accept(batch, batchPauseSignal, { refusal, change: () => batch.pause(true) });
  accept(batch, batchResumeSignal, { refusal, change: () => batch.pause(false) });
  accept<[number]>(batch, batchWindowSignal, { refusal: whyNoWindow, change: (window) => batch.setWindow(window) });
  accept<[BatchCancel?]>(batch, batchCancelSignal, {
    refusal: whyNoCancel,
    change: (request) => batch.cancel(request?.inFlight !== 'finish'),
  });
}

/** While a batch plans, it handles only these; other signals stay buffered. */
export function listenToPlanning(state: () => BatchState, cancel: () => void): void {
  setHandler(defineQuery<BatchState>(batchStateQuery), state);
  const plans = 'It is still looking for files. Try again once it converts them.';
  for (const name of [batchPauseSignal, batchResumeSignal, batchWindowSignal]) {
    setHandler(defineUpdate<BatchState>(name), state, { validator: () => refuse(plans) });
  }
  setHandler(defineSignal(batchCancelSignal), cancel);
  setHandler(defineUpdate<BatchState>(batchCancelSignal), () => {
    cancel();
    return state();
  });
}

function refuse(why: string): never {
  throw ApplicationFailure.nonRetryable(why, updateRefused);
}

/** Handles an Update, which is refused when it can't be done, and a signal, which needs no worker and is then ignored. */
function accept<Args extends unknown[] = []>(
  batch: ControlledBatch,
  name: string,
  { refusal, change }: { refusal: (...args: Args) => string | undefined; change: (...args: Args) => void },
): void {
  setHandler(defineSignal<Args>(name), (...args: Args) => {
    if (refusal(...args) === undefined) change(...args);
  });
  const answer = (...args: Args): BatchState => {
    change(...args);
    return batch.state();
  };
  setHandler(defineUpdate<BatchState, Args>(name), answer, {
    validator(...args: Args) {
      const why = refusal(...args);
      if (why !== undefined) refuse(why);
    },
  });
}

function whyNoWindow(window: unknown): string | undefined {
  return isWindow(window) ? undefined : `The window must be a whole number from 1 to ${maxWindow}.`;
}

function whyNoCancel(request: Partial<BatchCancel> | null | undefined): string | undefined {
  const { inFlight = 'cancel' } = request ?? {};
  return ['cancel', 'finish'].includes(inFlight) ? undefined : 'inFlight must be cancel or finish.';
}
