import { open } from 'node:fs/promises';
import { systemErrorCode } from '../shared/system-error';

/** The bytes of a user's file, or the reason why it cannot be read. */
export async function openInput(
  file: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer> | { problem: string }> {
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      return { problem: 'is a folder. Name a file.' };
    }
    return handle.createReadStream({ signal });
  } catch (error) {
    return { problem: explainUnreadable(systemErrorCode(error) ?? String(error)) };
  }
}

/** The end of a message that starts with the file's name; says what to do. */
export function explainUnreadable(code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'does not exist. Check the name and the folder.';
    case 'EACCES':
    case 'EPERM':
      return 'cannot be read: permission denied. Allow it with chmod, or run as a user who may read it.';
    case 'ELOOP':
      return 'cannot be read: its symbolic links form a loop.';
    default:
      return `cannot be read: ${code}.`;
  }
}
