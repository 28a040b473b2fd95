import { access, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { systemErrorCode } from '../../shared/system-error';
import { makeFolder } from '../../storage/folders';
import { runFiles } from '../run-files';

export interface BatchRun {
  /** From 1. */
  number: number;
  /** Absolute path. */
  folder: string;
}

const runName = /^run-(\d{4,})$/;

/** The runs of a batch that have a manifest, latest first; none if the folder does not exist. */
export async function listRuns(batchFolder: string): Promise<BatchRun[]> {
  const runs = await runFolders(batchFolder);
  const planned = await Promise.all(
    runs.map(async (run) => ((await exists(path.join(run.folder, runFiles.manifest))) ? [run] : [])),
  );
  return planned.flat();
}

/** Creates the folder of the next run. Concurrent processes each get their own. */
export async function createRunFolder(batchFolder: string): Promise<BatchRun> {
  await makeFolder(batchFolder);
  let number = ((await runFolders(batchFolder))[0]?.number ?? 0) + 1;
  for (; ; number += 1) {
    const folder = path.join(batchFolder, `run-${String(number).padStart(4, '0')}`);
    try {
      await mkdir(folder);
      return { number, folder };
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** Removes a run that was planned but never started. Throws a TypeError if the folder is not named like a run. */
export async function discardRun(folder: string): Promise<void> {
  if (!runName.test(path.basename(folder))) throw new TypeError(`${folder} is not the folder of a run.`);
  await rm(folder, { recursive: true, force: true });
}

/** Includes runs whose planning was interrupted. */
async function runFolders(batchFolder: string): Promise<BatchRun[]> {
  let names: string[];
  try {
    names = await readdir(batchFolder);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
  const runs = names.flatMap((name): BatchRun[] => {
    const number = Number(runName.exec(name)?.[1]);
    return Number.isSafeInteger(number) ? [{ number, folder: path.join(batchFolder, name) }] : [];
  });
  return runs.sort((one, other) => other.number - one.number);
}

export async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
