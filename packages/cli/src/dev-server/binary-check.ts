import { stat } from 'node:fs/promises';
import type { Release } from './releases';
import { CommandError, runCommand } from './run-command';
import type { Environment } from './run-command';

/**
 * From this server on `nonRetryableErrorTypes: ['TemporalTimeout:…']` is known to be honoured. An older one would
 * retry a submit of unknown outcome, and a conversion could be paid for twice without a word.
 */
const oldestServer = [1, 29] as const;

/** Why `file` cannot be used as this release's binary, in a few words; `undefined` when it can. */
export async function findDefect(
  release: Release,
  file: string,
  options: { env: Environment; signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return `${file} does not exist`;
  if (!found.isFile()) return `${file} is not a file`;
  if (process.platform !== 'win32' && (found.mode & 0o111) === 0) return `${file} is not executable`;
  if (!release.hasVersionOption) return undefined;
  let answer: string;
  try {
    answer = await runCommand(file, ['--version'], { ...options, timeoutMs: 20_000 });
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
  const server = /\bServer (\d+)\.(\d+)\.\d+/.exec(answer);
  if (server === null) return `${file} is not ${release.title}`;
  const [major, minor] = [Number(server[1]), Number(server[2])];
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])) {
    return `${file} holds server ${major}.${minor}; ${oldestServer.join('.')} or newer is needed`;
  }
  return undefined;
}
