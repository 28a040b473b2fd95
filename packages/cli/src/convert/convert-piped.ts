import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isUri } from 'temporal-file-conversion/batch';
import { toUri } from 'temporal-file-conversion/client';
import { extensionFromName, parametersKey } from 'temporal-file-conversion/job';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import {
  CommandError,
  exitCodes,
  explainStateFolder,
  explainStdout,
  interrupted,
  type ExitCode,
} from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import { settleFormat } from '../formats/formats';
import { createOutput } from '../output/output';
import { isEmbedded } from '../service/profiles';
import { untilAskedToEnd } from '../process/asked-to-end';
import { filesOf } from '../stores';
import { checkInput, checkResult, piped, toLocation, type TypedInput } from './plan';
import { PipeFolder, spool } from './pipe-folder';
import { convertOne } from './convert-one';
import type { ConvertFlags, FileOutcome } from './run-job';

/**
 * `fileconv convert` from standard input, to standard output, or both: an ordinary job, whose files stay in their own folder until it
 * has ended and its result is delivered.
 */
export async function convertPiped(
  given: CommandContext,
  files: readonly string[],
  { formats, ...flags }: ConvertFlags & { formats: readonly string[] },
): Promise<ExitCode> {
  const { from, out } = flags;
  const [to = ''] = formats;
  refuseMisuse(given, files, { ...flags, formats });
  const isToStdout = out === piped;
  const { quiet, verbose } = given.output;
  const context = isToStdout
    ? { ...given, output: createOutput({ ...given, json: false, quiet, verbose, stdout: given.stderr }) }
    : given;
  const { config, cwd } = context;
  const app = flags.app ?? config.values.defaultApp;
  const signal = untilAskedToEnd(context);
  const isFromStdin = files.includes(piped);
  const named = isFromStdin ? stdinAs(from ?? '') : await checkInput(files[0] ?? '', cwd);
  const extension = await settleFormat(context, app, { input: named, from, to, signal });
  const onExisting = isToStdout ? 'skip' : (flags.onExisting ?? config.values.policies.onExisting);
  const kept = isToStdout ? undefined : toLocation(out ?? '', cwd);
  if (kept !== undefined) {
    const writtenByUs = !temporalTarget(context).isNamed;
    await checkResult({ input: named, to, destination: kept }, { cwd, onExisting, writtenByUs });
  }
  await makeStateFolders(context);
  const folder = await PipeFolder.create(path.join(config.values.state.dir, 'pipes')).catch((error: unknown) => {
    throw explainStateFolder(config.values.state.dir, error);
  });
  const spooled = `stdin.${named.extension}`;
  const content = await (
    isFromStdin
      ? spool(context.stdin, folder.file(spooled), { maxBytes: uploadLimit(context, app), signal })
      : stampOf(context, named)
  ).catch(async (error: unknown) => {
    await folder.remove();
    throw signal.aborted ? interrupted(error) : explainStateFolder(config.values.state.dir, error);
  });
  await folder.settle([app, from, to, parametersKey(flags.param), kept, named.location, content]);
  const input = isFromStdin ? { ...named, location: folder.file(spooled) } : named;
  const result = folder.file(`result.${extension}`);
  if (isToStdout && existsSync(result)) {
    context.output.say(
      `An earlier command was ended before it could deliver this: its job has converted ${input.file}.`,
    );
    return deliver(context, folder, { result, signal });
  }
  const settings = { ...flags, app, onExisting, signal, ...(isToStdout && { pipedFrom: result }) };
  const { exitCode, outcome } = await convertOne(context, { input, to, destination: kept ?? result }, settings);
  if (isToStdout && exitCode === exitCodes.ok) return deliver(context, folder, { result, signal });
  // Keeps a suspect result, which is in the folder and paid for.
  if (hasEnded(outcome) && !(isToStdout && outcome.status === 'suspect')) await folder.remove();
  return exitCode;
}

function refuseMisuse(
  { output, stdin }: CommandContext,
  files: readonly string[],
  { from, out, formats }: ConvertFlags & { formats: readonly string[] },
): void {
  const usage = (problem: string) => new CommandError('USAGE', [problem]);
  if (formats.length > 1) {
    const count = `A pipe has one format, and --to names ${formats.length}`;
    throw usage(`${count}. Pipe it once for each, or convert a file.`);
  }
  if (out === piped && output.json)
    throw usage('--json and --out - would both write to standard output. Leave out one of them.');
  if (!files.includes(piped)) {
    if (files.length === 1) return;
    throw usage(`--out - is for the result of one file, and ${files.length} are named. Name a folder for the results.`);
  }
  if (files.length > 1) throw usage('- is standard input, and is converted by a command of its own. Name it alone.');
  if (from === undefined)
    throw usage(
      'Standard input has no file name to take the format from. Name the format: --from FORMAT, for example --from md.',
    );
  if (out === undefined)
    throw usage('Say where the result of standard input goes: --out FILE, or --out - for standard output.');
  if (out.endsWith('/')) throw usage(`${out} is a folder. Name the file, for example --out ${out}stdin.pdf`);
  if (stdin.isTTY)
    throw usage('Standard input is a terminal. Pipe a file into the command, or name one in place of -.');
}

/** `/dev/stdin` is checked like a file before it is read, so that a result never replaces the file that stdin is redirected from. */
function stdinAs(format: string): TypedInput {
  return { file: 'standard input', location: '/dev/stdin', extension: extensionFromName(format) };
}

function uploadLimit(context: CommandContext, app: string): number | undefined {
  if (!isEmbedded(context, app)) return undefined;
  return context.config.values.service.maxUploadBytes;
}

/** Identifies a version of a file. If only a worker can look at it, every call counts as a new version. */
async function stampOf(context: CommandContext, { location }: TypedInput): Promise<string> {
  const found = isUri(location) ? undefined : await filesOf(context).look(toUri(location));
  return found?.kind === 'file' ? found.stamp : randomUUID();
}

/** After an unknown outcome, the same command may still find a result. */
function hasEnded({ status, error }: FileOutcome): boolean {
  return status !== 'unfinished' && error?.code !== 'OUTCOME_UNKNOWN';
}

async function deliver(
  { stdout, output }: CommandContext,
  folder: PipeFolder,
  { result, signal }: { result: string; signal: AbortSignal },
): Promise<ExitCode> {
  try {
    await pipeline(createReadStream(result), stdout, { end: false, signal });
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    if (systemErrorCode(error) === 'ENOENT') {
      const problem = `The result is not at ${result}: the worker is on another machine, or may not write there. Convert into a store that both reach.`;
      throw new CommandError('DESTINATION_UNUSABLE', [problem], { cause: error });
    }
    if (systemErrorCode(error) !== 'EPIPE') {
      throw explainStdout(error as Error, 'The same command again delivers the result.');
    }
    // The reader may have had enough or have died; the result is paid for, so keep it.
    output.say(
      `The reader of standard output stopped early. The result is ${result}; the same command again delivers it.`,
    );
    return exitCodes.readerEnded;
  }
  await folder.remove();
  return exitCodes.ok;
}
