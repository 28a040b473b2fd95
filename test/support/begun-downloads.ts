import { readdir } from 'node:fs/promises';

/** Names of temporary download files in a folder, which need not exist. */
export const begunDownloads = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => /\.\d+\.part$/.test(name));
