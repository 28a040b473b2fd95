import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { ConversionBatchInput } from './model/types';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { writeFile, type Writing } from './contents';
import { RunFileError } from './run-files';

export interface KeptRequest {
  request: ConversionBatchInput;
  tags?: readonly string[];
}

/** Checks only what is used here; the workflow checks the rest when it is started again. */
const schema = z.strictObject({
  request: z.looseObject({ app: z.string(), plan: z.looseObject({ folder: z.string() }) }),
  tags: z.array(z.string()).optional(),
});

const requestFile = 'request.json';

/** Stores the request of the last run beside the runs, for `batch retry`. */
export async function saveRequest(
  files: FileStore,
  folder: string,
  request: KeptRequest,
  writing: Writing,
): Promise<void> {
  await writeFile(files, folder + requestFile, [`${JSON.stringify(request, undefined, 2)}\n`], { writing });
}

/** Undefined when no run was made there. @throws RunFileError when the file is damaged, StorageError when it can't be read. */
export async function readRequest(files: FileStore, folder: string): Promise<KeptRequest | undefined> {
  try {
    return schema.parse(JSON.parse(await text(files.read(folder + requestFile)))) as unknown as KeptRequest;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'SOURCE_NOT_FOUND') return undefined;
    if (error instanceof StorageError) throw error;
    const problem = `${shownPath(folder + requestFile)} can't be read: it was changed or damaged. Run the batch again with its whole command.`;
    throw new RunFileError('RUN_DAMAGED', problem, { cause: error });
  }
}
