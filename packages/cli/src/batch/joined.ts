import { isDeepStrictEqual } from 'node:util';
import { shellWord } from 'temporal-file-conversion/internal/batch/report/wording';
import type { RunFlags } from './run-flags';
import type { JobSettings } from './saved-settings';

export interface JoinedBatch {
  name: string;
  /** As they were typed. */
  flags: Partial<RunFlags>;
  /** What the flags come to. */
  settings: JobSettings;
  /** What the batch under way was started with, as far as that is known. */
  earlier: JobSettings | undefined;
}

/** Of a batch that runs already: which of the flags it takes no notice of, and what to type. Undefined when there is none. */
export function tellUnheeded({ name, flags, settings, earlier }: JoinedBatch): string | undefined {
  const typed = [
    // Nobody has kept whether the batch under way has it.
    flags.resubmit === true && '--resubmit',
    flags.window !== undefined && settings.window !== earlier?.window && '--window',
    flags.mode && settings.mode !== earlier?.mode && '--mode',
    flags.app !== undefined && settings.app !== earlier?.app && '--app',
    flags.onExisting && settings.onExisting !== earlier?.onExisting && '--on-existing',
    flags.stopAfter && !isDeepStrictEqual(settings.stopAfter, earlier?.stopAfter) && '--stop-after',
    flags.onUnknownOutcome &&
      settings.policies?.onUnknownOutcome !== earlier?.policies?.onUnknownOutcome &&
      '--on-unknown-outcome',
  ].filter((flag) => typeof flag === 'string');
  if (typed.length === 0) return undefined;
  const now =
    typed[0] === '--window' && typed.length === 1
      ? `fileconv batch window ${shellWord(name)} ${settings.window}`
      : `fileconv batch cancel ${shellWord(name)} --finish, and then this command again`;
  return `It goes on as it was started: ${typed.join(', ')} ${typed.length === 1 ? 'holds' : 'hold'} only for what is left to do afterwards, while this command watches. To have that now: ${now}`;
}
