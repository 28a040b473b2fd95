import { folderOf, isLocal, isOfWeb, isUri, resolveName } from './uris';

interface Places {
  /** Holds the runs of all batches, as was asked for. */
  runs?: string | undefined;
  /** What else the batch names, as it was written: the first that is in a store has the runs, hidden. */
  among?: readonly (string | undefined)[];
  /** Holds them else. */
  home: string;
}

/** The folder that holds the runs of a batch: manifests, results, reports. Workers read and write it too. */
export function batchFolderOf(name: string, { runs, among = [], home }: Places): string {
  return `${runs ?? inStore(among) ?? home}${encodeURIComponent(name)}/`;
}

function inStore(among: readonly (string | undefined)[]): string | undefined {
  const stored = among.find((named) => named !== undefined && isUri(named) && !isLocal(named) && !isOfWeb(named));
  if (stored === undefined) return undefined;
  // The last folder before a pattern.
  const [typed = ''] = stored.split(/[*[{(]/, 1);
  const literal = resolveName(typed, stored) ?? typed;
  return `${literal.endsWith('/') ? literal : folderOf(literal)}.fileconv/batches/`;
}
