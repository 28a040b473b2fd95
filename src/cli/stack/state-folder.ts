import { systemErrorCode } from '../../shared/system-error';
import { CommandError } from '../command-error';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EEXIST: 'it is a file',
  ENOTDIR: 'it is a file, or in one',
  ENOSPC: 'no space is left on the device',
};

/** What to throw when the state folder could not be used; any other error comes back as it is. */
export function explainStateFolder(stateDir: string, error: unknown): unknown {
  const reason = reasons[systemErrorCode(error) ?? ''];
  if (reason === undefined) return error;
  return new CommandError(
    'STATE_UNUSABLE',
    [
      `The state folder ${stateDir} cannot be written to: ${reason}. Change to a folder of yours, or name another with FILECONV_STATE_DIR.`,
    ],
    { cause: error },
  );
}
