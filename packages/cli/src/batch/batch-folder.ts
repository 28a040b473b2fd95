import path from 'node:path';
import {
  asFolder,
  batchFolderOf,
  isLocal,
  isOfWeb,
  resolveName,
  shownAsWritten,
  uriOfPath,
} from 'temporal-file-conversion/batch';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { filesOf } from '../stores';

/** The URI, ending with `/`, of a folder as typed. @throws CommandError */
export function folderUri({ cwd }: Pick<CommandContext, 'cwd'>, typed: string): string {
  const uri = resolveName(typed, asFolder(uriOfPath(cwd)));
  if (uri !== undefined && isOfWeb(uri)) {
    const why = 'the files of a web server can be neither listed nor written';
    throw new CommandError('USAGE', [`${shownAsWritten(typed)} can't be used as a folder: ${why}. Name another.`]);
  }
  if (uri !== undefined) return asFolder(uri);
  throw new CommandError('USAGE', [`${typed} is not a folder. Name a path, or a URI such as s3://bucket/folder/.`]);
}

/** Refuses a local path that is not a folder before anything is started. @throws CommandError */
export async function requireFolder(
  context: CommandContext,
  { typed, flag, mayBeNew = false }: { typed: string | false | undefined; flag: string; mayBeNew?: boolean },
): Promise<void> {
  if (typed === undefined || typed === false) return;
  const folder = folderUri(context, typed);
  // In other stores a folder is a prefix of names, and the worker may see more than this command.
  if (!isLocal(folder)) return;
  const refuse = (problem: string) => {
    throw new CommandError('INPUT_UNUSABLE', [`${typed} ${problem}. Name a folder with ${flag}.`]);
  };
  const files = filesOf(context);
  // If the folder does not exist yet, its nearest existing parent counts.
  for (let at = folder.slice(0, -1); at !== 'file://'; at = at.slice(0, at.lastIndexOf('/'))) {
    const { kind } = await files.look(at);
    if (kind === 'folder') return;
    if (kind !== 'none') refuse('is not a folder');
    if (!mayBeNew) refuse('does not exist');
  }
}

/** The folder for the runs of a batch. `runs`: `--runs` as typed; the others: as typed, or URIs. */
export function batchFolder(
  context: CommandContext,
  name: string,
  {
    runs,
    out,
    sources,
  }: { runs?: string | undefined; out?: string | undefined; sources?: readonly (string | undefined)[] } = {},
): string {
  const home = asFolder(uriOfPath(path.join(context.config.values.state.dir, 'batches')));
  return batchFolderOf(name, {
    ...(runs !== undefined && { runs: folderUri(context, runs) }),
    out,
    ...(sources && { sources }),
    home,
  });
}
