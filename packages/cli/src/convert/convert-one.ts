import { fileSize, printable, timesCharged } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { exitCodes, interrupted, type ExitCode } from '../command-error';
import type { StackInUse } from '../stack/connect';
import { useStack } from '../stack/use-stack';
import { pathFromHere, type PlannedResult } from './plan';
import type { ConvertSettings, FileOutcome } from './run-job';

/** Converts to a single result by a job, on the running stack or its own, and reports the outcome. */
export async function convertOne(
  context: CommandContext,
  planned: PlannedResult,
  settings: ConvertSettings,
): Promise<{ exitCode: ExitCode; outcome: FileOutcome }> {
  const { signal, pipedFrom, from: input = planned.input.extension } = settings;
  const stack = await useStack(context, signal, { expects: { input, output: planned.to } });
  try {
    if (signal.aborted) throw interrupted(signal.reason);
    // Late: a stack starts sooner without Temporal's client.
    const { runJob } = await import('./run-job.js');
    const outcome = await runJob(context, planned, { stack, settings });
    const { output, cwd } = context;
    announce(context, outcome, pipedFrom === undefined ? pathFromHere(outcome.output?.path ?? '', cwd) : undefined);
    if (output.json) output.printJson(outcome);
    if (outcome.status !== 'unfinished') {
      return { exitCode: outcome.error ? exitCodes.failed : exitCodes.ok, outcome };
    }
    reportInterrupted(context, stack, pipedFrom);
    return { exitCode: exitCodes.interrupted, outcome };
  } finally {
    await stack.close();
  }
}

/** `place`: path of the result, unless it goes to standard output. */
function announce({ output }: CommandContext, outcome: FileOutcome, place: string | undefined): void {
  const { file, status, output: result, error, seconds } = outcome;
  if (!output.json) {
    if (status === 'converted' && result) {
      // The write to standard output may still fail.
      const target = place === undefined ? 'is converted' : `→ ${place}`;
      output.print(printable(`${file} ${target} (${fileSize(result.bytes)}, ${seconds.toFixed(1)} s)`));
    }
    if (status === 'skipped' && place !== undefined) {
      const why = result
        ? `was converted before: ${place}. To convert it again: --again`
        : 'skipped: its result exists';
      output.print(printable(`${file} ${why}`));
    }
  }
  if (error) output.fail(printable(error.message));
  for (const [name, advice] of Object.entries(outcome.warnings ?? {})) {
    output.warn(printable(`${file}: ${name}: ${advice}`));
  }
  if (outcome.possiblyChargedTwice) {
    output.warn(`${printable(file)}: the service may have charged this conversion ${timesCharged(outcome)}.`);
  }
}

function reportInterrupted(
  { output }: CommandContext,
  { outlivesCommand }: StackInUse,
  pipedFrom: string | undefined,
): void {
  const when = outlivesCommand ? 'without this command' : 'with the next `fileconv up` in this folder';
  const where =
    pipedFrom === undefined
      ? 'the result will be where you asked for it. The same command again waits for it.'
      : `the result will be ${pipedFrom}, which the same command again delivers.`;
  output.say(`Interrupted. The job continues ${when}; ${where}`);
  if (outlivesCommand) output.say('See it continue: fileconv job list');
}
