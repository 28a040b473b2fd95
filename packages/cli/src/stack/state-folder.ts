import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { CommandError } from '../command-error';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'no folder can be made there',
  EEXIST: 'it is a file',
  ENOTDIR: 'it is a file, or in one',
  ENOSPC: 'no space is left on the device',
};

/** What to throw when the state folder could not be used; any other error comes back as it is. */
export function explainStateFolder(stateDir: string, error: unknown): unknown {
  return explainFolder(error, {
    problem: `The state folder ${stateDir} cannot be written to`,
    advice: 'Change to a folder of yours, or name another with FILECONV_STATE_DIR.',
  });
}

/** The same for any folder that keeps state, or for a file in it. */
export function explainFolder(error: unknown, { problem, advice }: { problem: string; advice: string }): unknown {
  const reason = reasons[systemErrorCode(error) ?? ''];
  if (reason === undefined) return error;
  return new CommandError('STATE_UNUSABLE', [`${problem}: ${reason}. ${advice}`], { cause: error });
}
