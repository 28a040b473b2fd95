import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { notRegular, systemErrorCode } from '../messages/system-error';

/** Replaces a file's content atomically: readers find the old or the new content, also after a power cut. */
export async function replaceFile(filePath: string, content: string, { mode = 0o666 } = {}): Promise<void> {
  await writeBeside(filePath, { content, mode }, (partial) => rename(partial, filePath));
}

/** Reads a file, or creates it readable by its owner only. If several processes find none, the first to create it wins. */
export async function readOrCreateFile(filePath: string, create: () => string): Promise<string> {
  const existing = await readIfExists(filePath);
  if (existing !== undefined) return existing;
  await writeBeside(filePath, { content: create(), mode: 0o600 }, async (partial) => {
    try {
      // Unlike a rename, a link does not replace a file created meanwhile.
      await link(partial, filePath);
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
    }
  });
  return readSetting(filePath);
}

/** The null device, and files already open, such as those that a shell passes for `<(command)`. */
function endsByItself(filePath: string): boolean {
  return filePath === devNull || /^\/(?:dev|proc\/self)\/(?:stdin|fd\/\d+)$/.test(filePath);
}

/** The text of a file named by a setting. @throws also for a pipe or device, which may never end; see `whyUnreadable`. */
export async function readSetting(filePath: string): Promise<string> {
  const found = await stat(filePath);
  const isOther = !found.isFile() && !found.isDirectory() && !endsByItself(filePath);
  if (isOther) throw Object.assign(new Error(`${filePath} is not a regular file`), { code: notRegular });
  return readFile(filePath, 'utf8');
}

/** Undefined if there is no such file. */
export async function readIfExists(filePath: string): Promise<string | undefined> {
  try {
    return await readSetting(filePath);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes and syncs the content under a temporary name, then calls `place` to give it its own. */
async function writeBeside(
  filePath: string,
  { content, mode }: { content: string; mode: number },
  place: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = `${filePath}.${randomUUID()}.part`;
  try {
    const handle = await open(partial, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(partial);
  } finally {
    await rm(partial, { force: true });
  }
}
