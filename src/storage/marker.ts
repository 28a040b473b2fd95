import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { readlink, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { destinationFailure, systemCode } from './errors';
import type { FolderSharing, MarkerOptions } from './file-store';
import { toPath } from './file-uri';
import { makeFolder } from './folders';
import { markOf, removeIfThere } from './partial-file';

/**
 * Marker for local folders: a dangling symbolic link in the destination's folder, named like a temporary file of
 * attempt 0, whose target is the run's id. A link takes no room, so that it fits on a disk that is almost full.
 */
export function createFolderSharing(): FolderSharing {
  return {
    view: viewOfThisProcess(),
    leaveMarker: (options) => atMarker(options, (markerPath) => leave(markerPath, options.runId)),
    seesMarker: (options) => atMarker(options, (markerPath) => sees(markerPath, options.runId)),
    removeMarker: (options) => atMarker(options, removeIfThere),
  };
}

/** Processes of one boot and mount namespace see the same files; without namespaces, those of one machine do. */
function viewOfThisProcess(): string {
  let place: string;
  try {
    place = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/mnt');
  } catch {
    place = hostname();
  }
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

async function atMarker<Result>(
  { uri, jobKey }: Pick<MarkerOptions, 'uri' | 'jobKey'>,
  act: (markerPath: string) => Promise<Result>,
): Promise<Result> {
  const asked = toPath(uri);
  const folder = uri.endsWith('/') ? asked : path.dirname(asked);
  try {
    return await act(path.join(folder, `.job.${markOf(jobKey)}.0.part`));
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}

/** Another attempt of the upload that was suspended may leave its own marker at the same moment. */
const linkTries = 5;

/** Returns false if the folder cannot hold links. */
async function leave(markerPath: string, runId: string): Promise<boolean> {
  for (let triesLeft = linkTries; ;) {
    try {
      await symlink(runId, markerPath);
      return true;
    } catch (error) {
      const code = systemCode(error);
      if (['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) return false;
      triesLeft -= 1;
      if (triesLeft === 0) throw error;
      if (code === 'EEXIST') await removeIfThere(markerPath);
      else if (code === 'ENOENT') await makeFolder(path.dirname(markerPath));
      else throw error;
    }
  }
}

async function sees(markerPath: string, runId: string): Promise<boolean> {
  try {
    return (await readlink(markerPath)) === runId;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EINVAL'].includes(systemCode(error))) return false;
    throw error;
  }
}
