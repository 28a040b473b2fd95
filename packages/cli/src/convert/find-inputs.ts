import { stat } from 'node:fs/promises';
import { Findings } from 'temporal-file-conversion/internal/batch/plan/findings';
import { createExclusion, findSources } from 'temporal-file-conversion/internal/batch/sources/find-sources';
import { asFolder, isLocal, isOfWeb, uriOfPath } from 'temporal-file-conversion/internal/batch/uris';
import { lastSegment } from 'temporal-file-conversion/internal/shared/job';
import { filesOf, folderUri } from '../batch/batch-folder';
import type { CommandContext } from '../command-context';
import { throwIfAny } from '../command-error';
import { checkInputs, isUri, piped, toLocation, type ConvertInput } from './plan';

export interface FindInputsOptions {
  recursive?: boolean;
  exclude: readonly string[];
  /** As it was typed; not searched unless it is named. */
  out?: string;
  signal: AbortSignal;
}

/**
 * The files that are named, and those of named folders and patterns, found as a batch finds them.
 * @throws CommandError with a line for every name that can't be used.
 */
export async function findInputs(
  context: CommandContext,
  named: readonly string[],
  { recursive = false, exclude, out, signal }: FindInputsOptions,
): Promise<ConvertInput[]> {
  const { cwd, output } = context;
  const [problems, warnings, unread] = [new Findings(), new Findings(), new Findings()];
  const lookup = {
    files: filesOf(context),
    cwd: asFolder(uriOfPath(cwd)),
    skippedFolders: new Set(out === undefined || out === piped ? [] : [folderUri(context, out)]),
    ...{ problems, warnings, unread, signal },
  };
  const excluded = createExclusion(exclude);
  const files: { typed: string; dir?: string }[] = [];
  for (const typed of named) {
    if (!(await isSearched(typed, cwd))) {
      if (!excluded(lastSegment(typed), typed)) files.push({ typed });
      continue;
    }
    for await (const { uri, shown, dir, refusal } of findSources({ sources: [typed], recursive, exclude }, lookup)) {
      if (refusal) problems.add(refusal.code, refusal.message);
      else files.push({ typed: isLocal(uri) ? shown : uri, dir });
    }
  }
  const told = (found: Findings) => found.listed.map(({ message }) => message);
  const [unusable, leftOut] = [told(problems), [...told(unread), ...told(warnings)]];
  throwIfAny('INPUT_UNUSABLE', unusable);
  const nothing = ['There are no files to convert. Check the names, and what --exclude leaves out.'];
  if (files.length === 0) throwIfAny('INPUT_UNUSABLE', leftOut.length > 0 ? leftOut : nothing);
  for (const line of leftOut) output.warn(line);
  return checkInputs(files, cwd);
}

/** Whether it is a folder or a pattern. What is at a URI only the worker looks at. */
async function isSearched(typed: string, cwd: string): Promise<boolean> {
  const location = toLocation(typed, cwd);
  if (isUri(location)) return !isOfWeb(location) && /\/$|[*[{(]/.test(typed);
  const found = await stat(location).catch(() => undefined);
  return found ? found.isDirectory() : /[*?[{(]/.test(typed);
}
