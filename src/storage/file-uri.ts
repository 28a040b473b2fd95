import { fileURLToPath } from 'node:url';
import { StorageError } from './errors';

/** The local path of a `file:` URI. A trailing `/` is kept. */
export function toPath(uri: string): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url?.protocol !== 'file:') throw unsupported(uri, 'it is not a file: URI');
  let path: string;
  try {
    path = fileURLToPath(url);
  } catch (error) {
    // Another host, or an encoded slash.
    throw unsupported(uri, error instanceof Error ? error.message : String(error), error);
  }
  if (path.includes('\0')) throw unsupported(uri, 'it holds a null byte');
  return path;
}

function unsupported(uri: string, why: string, cause?: unknown): StorageError {
  return new StorageError({
    code: 'UNSUPPORTED_URI',
    message: `Cannot use ${JSON.stringify(uri)}: ${why}.`,
    uri,
    cause,
  });
}
