import path from 'node:path';
import { asFolder, folderOf, isLocal, resolveName, uriOfPath } from 'temporal-file-conversion/internal/batch/uris';
import type { FileStore } from 'temporal-file-conversion/internal/storage/file-store';
import { createLocalFiles } from 'temporal-file-conversion/internal/storage/local-files';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';

/** Where commands find the files of a batch. */
export const filesOf: (context: CommandContext) => FileStore = () => createLocalFiles();

/** A folder as it was typed, as a URI that ends with `/`. @throws CommandError */
export function folderUri({ cwd }: Pick<CommandContext, 'cwd'>, typed: string): string {
  const uri = resolveName(typed, asFolder(uriOfPath(cwd)));
  if (uri !== undefined) return asFolder(uri);
  throw new CommandError('USAGE', [`${typed} is no folder. Name a path, or a URI such as s3://bucket/folder/.`]);
}

interface Places {
  /** `--runs` as it was typed. */
  runs?: string | undefined;
  /** URIs of what else the batch names: the first that is not on this machine's disk has the runs, hidden. */
  among?: readonly (string | undefined)[];
}

/** Holds the runs of a batch: manifests, results, reports. Workers read and write it too. */
export function batchFolder(context: CommandContext, name: string, { runs, among = [] }: Places = {}): string {
  const inFolder = encodeURIComponent(name);
  if (runs !== undefined) return `${folderUri(context, runs)}${inFolder}/`;
  const remote = among.find((uri) => uri !== undefined && !isLocal(uri) && !/^https?:/.test(uri));
  if (remote !== undefined) return `${folderBefore(remote)}.fileconv/batches/${inFolder}/`;
  return asFolder(uriOfPath(path.join(context.config.values.state.dir, 'batches', name)));
}

/** The last folder of a URI before a pattern in it. */
function folderBefore(uri: string): string {
  const [typed = ''] = uri.split(/[*[{(]/, 1);
  const literal = resolveName(typed, uri) ?? typed;
  return literal.endsWith('/') ? literal : folderOf(literal);
}
