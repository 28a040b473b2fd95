import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Link } from './commit';
import { planDestination } from './destination';
import { destinationFailure } from './errors';
import type { FileStore } from './file-store';
import { toPath } from './file-uri';
import { freeBytesOf, type FreeBytes } from './folders';
import { lookAtLocalFile } from './look';
import { createFolderSharing } from './marker';
import { removeIfThere, removePartials } from './partial-file';
import { openLocalSource, readLocalFile } from './source';
import { walkLocalFolder } from './walk';
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
    look: lookAtLocalFile,
    read: readLocalFile,
    walk: walkLocalFolder,
    async remove(uri) {
      const filePath = toPath(uri);
      try {
        if (uri.endsWith('/')) await rm(filePath, { recursive: true, force: true });
        else await removeIfThere(filePath);
      } catch (error) {
        throw destinationFailure(error, uri);
      }
    },
    sharing: createFolderSharing(),
  };
}
