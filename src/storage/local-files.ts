import path from 'node:path';
import type { Link } from './commit';
import { planDestination } from './destination';
import type { FileStore } from './file-store';
import { destinationFailure } from './file-system-failure';
import { toPath } from './file-uri';
import { removePartials } from './partial-file';
import { openLocalSource } from './source';
import { writeLocalFile } from './write';

export type * from './file-store';

/** The store behind `file:` URIs. `link` is for a file system without hard links; the default is `link(2)`. */
export function createLocalFiles({ link }: { link?: Link } = {}): FileStore {
  return {
    openSource: openLocalSource,
    prepareDestination: planDestination,
    writeDestination: (options) => writeLocalFile(options, link),
    async discardPartial({ uri, jobKey }) {
      const filePath = toPath(uri);
      try {
        await removePartials(uri.endsWith('/') ? filePath : path.dirname(filePath), jobKey);
      } catch (error) {
        throw destinationFailure(error, uri);
      }
    },
  };
}
