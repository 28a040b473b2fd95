import { pathToFileURL } from 'node:url';

/** A run's folder as the workflow takes it. */
export function folderUri(folder: string): string {
  return `${pathToFileURL(folder).href}/`;
}
