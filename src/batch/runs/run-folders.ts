import { randomUUID } from 'node:crypto';
import { StorageError } from '../../storage/errors';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { runFiles } from '../run-files';
import { within } from '../uris';
import { writeFile } from '../write-file';

export interface BatchRun {
  /** From 1. */
  number: number;
  folder: string;
}

export const runName = /^run-(\d{4,})$/;

/** The runs of a batch that have a manifest, latest first; none if the folder does not exist. */
export async function listRuns(files: FileStore, batchFolder: string): Promise<BatchRun[]> {
  const names = await filesOfRuns(files, batchFolder);
  const planned = [...names].filter(([, of]) => of.has(runFiles.manifest)).map(([number]) => number);
  return planned.sort((one, other) => other - one).map((number) => runOf(batchFolder, number));
}

/** Takes the folder of the next run. Concurrent planners each get their own. */
export async function claimRun(files: FileStore, batchFolder: string): Promise<BatchRun> {
  let number = Math.max(0, ...(await filesOfRuns(files, batchFolder)).keys()) + 1;
  for (; ; number += 1) {
    const run = runOf(batchFolder, number);
    try {
      // Whoever writes this file first has the folder.
      const writing = { jobKey: `claim ${randomUUID()}`, attempt: 1 };
      await writeFile(files, run.folder + runFiles.claim, ['taken\n'], { writing, onExisting: 'fail' });
      return run;
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'DESTINATION_EXISTS') throw error;
    }
  }
}

/** Removes a run that was planned but never started. Throws a TypeError if the folder is not named like a run. */
export async function discardRun(files: FileStore, folder: string): Promise<void> {
  if (!/\/run-\d{4,}\/$/.test(folder)) throw new TypeError(`${folder} is not the folder of a run.`);
  await files.remove(folder);
}

/** Names of the files of each run, by its number. Includes runs whose planning was interrupted. */
async function filesOfRuns(files: FileStore, batchFolder: string): Promise<Map<number, Set<string>>> {
  const names = new Map<number, Set<string>>();
  const walked = files.walk(batchFolder, {
    maxDepth: 2,
    enters: (relative) => runName.test(relative),
    onUnreadable(relative, reason) {
      throw new Error(`${shownPath(within(batchFolder, relative))} ${reason}.`);
    },
  });
  for await (const { relative } of walked) {
    const [folder = '', name] = relative.split('/');
    const number = Number(runName.exec(folder)?.[1]);
    if (name === undefined || !Number.isSafeInteger(number)) continue;
    names.set(number, (names.get(number) ?? new Set()).add(name));
  }
  return names;
}

function runOf(batchFolder: string, number: number): BatchRun {
  return { number, folder: `${batchFolder}run-${String(number).padStart(4, '0')}/` };
}

export async function exists(files: FileStore, uri: string): Promise<boolean> {
  return (await files.look(uri)).kind === 'file';
}
