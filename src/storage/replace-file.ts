import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { notRegular, systemErrorCode } from '../messages/system-error';

/** Gives a file new content, whole or not at all: whoever reads it, also after a power cut, finds the old content or the new one. */
export async function replaceFile(filePath: string, content: string, { mode = 0o666 } = {}): Promise<void> {
  await writeBeside(filePath, { content, mode }, (partial) => rename(partial, filePath));
}

/** The content of a file. Of several processes that find none, the first creates it, readable by its owner only. */
export async function readOrCreateFile(filePath: string, create: () => string): Promise<string> {
  const existing = await readIfExists(filePath);
  if (existing !== undefined) return existing;
  await writeBeside(filePath, { content: create(), mode: 0o600 }, async (partial) => {
    try {
      // Unlike a rename, this leaves what was there first.
      await link(partial, filePath);
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
    }
  });
  return readSetting(filePath);
}

/** The null device, and what is open already, such as what a shell puts in place of `<(command)`. */
function endsByItself(filePath: string): boolean {
  return filePath === devNull || /^\/(?:dev|proc\/self)\/(?:stdin|fd\/\d+)$/.test(filePath);
}

/** The text of a file that a setting names. @throws an error for `whyUnreadable`, also of a pipe or a device, which may never end. */
export async function readSetting(filePath: string): Promise<string> {
  const found = await stat(filePath);
  const isOther = !found.isFile() && !found.isDirectory() && !endsByItself(filePath);
  if (isOther) throw Object.assign(new Error(`${filePath} is no regular file`), { code: notRegular });
  return readFile(filePath, 'utf8');
}

/** The content of a file; undefined when there is none. */
export async function readIfExists(filePath: string): Promise<string | undefined> {
  try {
    return await readSetting(filePath);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the content under a temporary name; it is on disk when `place` is called to give it its own. */
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
