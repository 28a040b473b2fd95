import { existsSync } from 'node:fs';
import path from 'node:path';

/** The Chromium or Chrome of this machine: `CHROMIUM_PATH`, or the first one in PATH. Downloads nothing. */
export function findBrowser(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { CHROMIUM_PATH: given, PATH = '' } = environment;
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = PATH.split(path.delimiter).filter(Boolean);
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return [...(given === undefined || given === '' ? [] : [given]), ...found].find((file) => existsSync(file));
}
