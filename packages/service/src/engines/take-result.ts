import { lstat, rename, rm } from 'node:fs/promises';

/**
 * Moves what a conversion has made to its place. A document that took over its engine could leave a link there, and a link is
 * followed outside of what shuts the engine in. Looked at where nothing that converts can change it any more.
 */
export async function takeResult(file: string, place: string): Promise<void> {
  await rename(file, place);
  if ((await lstat(place)).isFile()) return;
  await rm(place, { recursive: true });
  throw new Error('The engine left something else than a file as its result.');
}
