import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ConversionBatchInput } from 'temporal-file-conversion/internal/shared/batch';
import {
  conversionModes,
  onExistingChoices,
  onUnknownOutcomeChoices,
} from 'temporal-file-conversion/internal/shared/policies';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { makeFolder } from 'temporal-file-conversion/internal/storage/folders';
import { replaceFile } from 'temporal-file-conversion/internal/storage/replace-file';
import { z } from 'zod';
import { CommandError } from '../command-error';
import type { RunFlags } from './settings';

/** Settings of a batch's jobs: the workflow's input without what comes from the plan. */
export type JobSettings = Omit<ConversionBatchInput, 'folder' | 'items' | 'historyLimit' | 'resubmit'>;

const duration = z.union([z.number(), z.string()]);

const schema = z.object({
  app: z.string(),
  window: z.number().exactOptional(),
  onExisting: z.enum(onExistingChoices).exactOptional(),
  mode: z.enum(conversionModes).exactOptional(),
  stopAfter: z.object({ failures: z.number().exactOptional(), percent: z.number().exactOptional() }).exactOptional(),
  // The client checks them again when the batch is started.
  policies: z
    .looseObject({
      onUnknownOutcome: z.enum(onUnknownOutcomeChoices).exactOptional(),
      maxResubmissions: z.number().exactOptional(),
      uploadDeadline: duration.exactOptional(),
    })
    .exactOptional(),
}) satisfies z.ZodType<JobSettings>;

const fileName = 'settings.json';

/** Kept beside the runs, for `batch retry`. */
export async function saveSettings(batchFolder: string, settings: JobSettings): Promise<void> {
  await makeFolder(batchFolder);
  await replaceFile(path.join(batchFolder, fileName), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** Undefined when no run has been started. @throws CommandError when the file is damaged. */
export async function readSettings(batchFolder: string): Promise<JobSettings | undefined> {
  const file = path.join(batchFolder, fileName);
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw new CommandError(
      'STATE_UNUSABLE',
      [`${file} can't be read: it was changed or damaged. Run the batch again with its whole command.`],
      { cause: error },
    );
  }
}

interface JoinedBatch {
  name: string;
  /** As they were typed. */
  flags: Partial<RunFlags>;
  /** What the flags come to. */
  settings: JobSettings;
  /** What the batch under way was started with, as far as that is known. */
  earlier: JobSettings | undefined;
}

/** Which flags have no effect on a batch that already runs, and what to type instead. Undefined when all have. */
export function tellUnheeded({ name, flags, settings, earlier }: JoinedBatch): string | undefined {
  const typed = [
    // Whether the running batch has it is not recorded.
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
