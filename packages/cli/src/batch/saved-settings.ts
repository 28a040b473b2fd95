import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionBatchInput } from 'temporal-file-conversion/internal/shared/batch';
import {
  conversionModes,
  onExistingChoices,
  onUnknownOutcomeChoices,
} from 'temporal-file-conversion/internal/shared/choices';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { makeFolder } from 'temporal-file-conversion/internal/storage/folders';
import { z } from 'zod';
import { CommandError } from '../command-error';

/** How the jobs of a batch are to be done: all of the workflow's input but what a plan says. */
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

/** Kept beside the runs, so that `batch retry` does as the run before it did. */
export async function saveSettings(batchFolder: string, settings: JobSettings): Promise<void> {
  await makeFolder(batchFolder);
  const file = path.join(batchFolder, fileName);
  // Two commands may start the same batch at once.
  const temporary = `${file}.${process.pid}.new`;
  await writeFile(temporary, `${JSON.stringify(settings, undefined, 2)}\n`);
  await rename(temporary, file);
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
