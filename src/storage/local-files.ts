import { constants, type Stats } from 'node:fs';
import { access, lstat, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Link } from './commit';
import { alreadyExists, cannotWrite, destinationFailure, isItsSource, systemCode, writing } from './errors';
import { makeSafeName, maxPathBytes } from './file-name';
import type { DestinationPlan, FileStore } from './file-store';
import { toPath } from './file-uri';
import { assertRoom, localFolderOf, freeBytesOf, type FreeBytes } from './folders';
import { moveLocalFile } from './move';
import { removeIfThere, removePartials, sweepPartials } from './partial-file';
import { lookAtLocalFile, openLocalSource, readLocalFile } from './source';
import { walkLocalFolder } from './walk';
import { writeLocalFile } from './write';

/**
 * The store for `file:` URIs. `isShared`: all workers see the same files under the same paths. `link` and `freeBytes` are replaceable,
 * since some file systems lack `link(2)` or do not answer `statfs(2)`.
 */
export function createLocalFiles({
  link,
  freeBytes = freeBytesOf,
  isShared = false,
}: { link?: Link; freeBytes?: FreeBytes; isShared?: boolean } = {}): FileStore {
  const store: FileStore = {
    openSource: openLocalSource,
    prepareDestination: (options) => planDestination(options, freeBytes),
    writeDestination: (options) => writeLocalFile({ ...options, link, freeBytes }),
    discardPartial: ({ uri, jobKey }) => writing(uri, () => removePartials(localFolderOf(uri), jobKey)),
    sweepPartial: (folder, options) => sweepPartials(toPath(folder), options).catch(() => undefined),
    look: lookAtLocalFile,
    read: readLocalFile,
    walk: walkLocalFolder,
    remove: (uri) =>
      writing(uri, () =>
        uri.endsWith('/') ? rm(toPath(uri), { recursive: true, force: true }) : removeIfThere(toPath(uri)),
      ),
    move: (options) => moveLocalFile(options, store),
    isPerHost: !isShared,
  };
  return store;
}

const writable = constants.W_OK | constants.X_OK;

/** Determines the output's path and checks, without writing anything, that it can be written. */
async function planDestination(
  options: Parameters<FileStore['prepareDestination']>[0],
  freeBytes: FreeBytes,
): Promise<DestinationPlan> {
  const asked = toPath(options.uri);
  const filePath = options.uri.endsWith('/') ? path.join(asked, makeSafeName(options.suggestedName)) : asked;
  const uri = pathToFileURL(filePath).href;
  if (Buffer.byteLength(filePath) > maxPathBytes) {
    throw cannotWrite(uri, { code: 'DESTINATION_NOT_WRITABLE', why: 'its path is too long for the file system.' });
  }
  try {
    const existing = await find(filePath, lstat);
    if (existing) {
      if (existing.isDirectory() && options.onExisting !== 'rename') {
        const why = 'it is a folder; end it with / to put the file inside.';
        throw cannotWrite(uri, { code: 'DESTINATION_IS_DIRECTORY', why });
      }
      if (options.source !== undefined && (await isSame(existing, options.source))) throw isItsSource(uri);
      const mayBeOurs = (options.attempt ?? 1) > 1;
      if (options.onExisting === 'skip' && !mayBeOurs) return { kind: 'skip', uri };
      if (options.onExisting === 'fail' && !mayBeOurs) throw alreadyExists(uri);
    }
    const folder = await findWritable(path.dirname(filePath), uri);
    await assertRoom({ uri, folder, bytes: options.expectedBytes, freeBytes });
    return { kind: 'write', uri };
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}

/** Compares inodes, not names: a folder may have two names, and a file system may ignore case. */
async function isSame(existing: Stats, sourceUri: string): Promise<boolean> {
  const source = await find(toPath(sourceUri), stat);
  return source?.ino === existing.ino && source.dev === existing.dev;
}

/** Returns the nearest existing folder; the write creates the missing folders in it. */
async function findWritable(folder: string, uri: string): Promise<string> {
  // The folder usually exists. The trailing separator makes it an error if the path is a file.
  if (await isAccessible(folder + path.sep)) return folder;
  let nearest = folder;
  let found = await find(nearest, stat);
  while (!found && path.dirname(nearest) !== nearest) {
    if (await find(nearest, lstat)) {
      // Either a dangling symbolic link, which mkdir can't replace, or another job has just made the folder.
      found = await find(nearest, stat);
      break;
    }
    nearest = path.dirname(nearest);
    found = await find(nearest, stat);
  }
  if (!found?.isDirectory()) {
    throw cannotWrite(uri, { code: 'DESTINATION_NOT_WRITABLE', why: `${nearest} is not a folder.` });
  }
  await access(nearest, writable);
  return nearest;
}

const answers = new Map<string, Promise<boolean>>();
let answersSince = 0;

/** As of up to a second ago: each job asks three times about its folder, and the jobs of a batch about the same few. */
function isAccessible(folder: string): Promise<boolean> {
  if (performance.now() - answersSince > 1_000) {
    answers.clear();
    answersSince = performance.now();
  }
  const known = answers.get(folder);
  if (known) return known;
  const answer = access(folder, writable).then(
    () => true,
    () => false,
  );
  answers.set(folder, answer);
  return answer;
}

async function find(filePath: string, look: (path: string) => Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await look(filePath);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
