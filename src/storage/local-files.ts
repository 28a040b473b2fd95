import path from 'node:path';
import type { Link } from './commit';
import { planDestination } from './destination';
import { destinationFailure } from './errors';
import type { FileStore } from './file-store';
import { toPath } from './file-uri';
import { freeBytesOf, type FreeBytes } from './folders';
import { createFolderSharing } from './marker';
import { removePartials } from './partial-file';
import { openLocalSource } from './source';
import { writeLocalFile } from './write';

/** The store for `file:` URIs. Some file systems lack `link(2)` or do not answer `statfs(2)`: both are replaceable. */
export function createLocalFiles({
  link,
  freeBytes = freeBytesOf,
}: { link?: Link; freeBytes?: FreeBytes } = {}): FileStore {
  return {
    openSource: openLocalSource,
    prepareDestination: (options) => planDestination({ ...options, freeBytes }),
    writeDestination: (options) => writeLocalFile({ ...options, link, freeBytes }),
    async discardPartial({ uri, jobKey }) {
      const filePath = toPath(uri);
      try {
        await removePartials(uri.endsWith('/') ? filePath : path.dirname(filePath), jobKey);
      } catch (error) {
        throw destinationFailure(error, uri);
      }
    },
    sharing: createFolderSharing(),
  };
}
