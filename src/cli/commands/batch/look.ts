import { shellWord } from '../../../batch/report/wording';
import { BatchFailedError } from '../../../client/batch-handle';
import { isBatchRunning, listBatches } from '../../../client/batch-status';
import { FileConversionClient } from '../../../client/file-conversion-client';
import type { BatchState } from '../../../shared/batch';
import { progressText } from '../../batch/progress';
import { checkName } from '../../batch/settings';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import type { OpenTemporal } from '../../stack/open-temporal';
import { withTemporal } from '../../stack/open-temporal';
import { formatTable } from '../../table';
import { shownTime } from '../../../shared/shown-time';

const maxListed = 100;
/** A worker that is alive answers at once. */
const answerWithinMs = 10_000;

/** `fileconv batch status` */
export async function batchStatus(context: CommandContext, name: string): Promise<ExitCode> {
  checkName(name);
  const { output } = context;
  return withTemporal(context, async (temporal) => {
    const state = await readState(temporal, name);
    if (output.json) output.printJson({ batch: name, ...state });
    else {
      output.print(`Batch ${name}: ${state.status}. ${progressText(state, undefined)}.`);
      const codes = Object.entries(state.failures).sort(([, one], [, other]) => other - one);
      const { needsAttention } = state;
      if (needsAttention) output.print(`  ${needsAttention.code}: ${needsAttention.message}`);
      for (const [code, count] of codes) output.print(`  ${count} ${code}`);
    }
    return exitCodes.ok;
  });
}

/** `fileconv batch list` */
export async function batchList(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  return withTemporal(context, async ({ client }) => {
    const batches = await listBatches(client, maxListed);
    if (output.json) output.printJson({ batches });
    else if (batches.length === 0) output.say('No batches.');
    else {
      const rows = batches.map(({ name, status, startedAt, endedAt }) => [
        name,
        status.toLowerCase().replaceAll('_', ' '),
        shownTime(startedAt),
        endedAt ? shownTime(endedAt) : '',
      ]);
      output.print(formatTable(['NAME', 'STATUS', 'STARTED (UTC)', 'ENDED (UTC)'], rows));
    }
    return exitCodes.ok;
  });
}

/** `fileconv batch report` */
export async function batchReport(context: CommandContext, name: string): Promise<ExitCode> {
  checkName(name);
  return withTemporal(context, async (temporal) => {
    if (await requireBatch(temporal, name)) {
      throw new CommandError('INPUT_UNUSABLE', [
        `Batch ${name} has not ended: its report is written then. Watch it: fileconv batch watch ${shellWord(name)}`,
      ]);
    }
    const result = await batchOf(temporal, name)
      .result()
      .catch((error: unknown) => {
        throw failed(error);
      });
    const { finishBatch } = await import('../../batch/finish.js');
    await finishBatch(context, { stack: temporal, name, result });
    return exitCodes.ok;
  });
}

async function readState(temporal: OpenTemporal, name: string): Promise<BatchState> {
  const batch = batchOf(temporal, name);
  if (!(await requireBatch(temporal, name))) {
    return batch.result().catch((error: unknown) => {
      throw failed(error);
    });
  }
  const answer = temporal.client.connection.withDeadline(Date.now() + answerWithinMs, () => batch.state());
  return answer.catch((error: unknown) => {
    throw new CommandError(
      'STATE_UNUSABLE',
      [`Batch ${name} is under way, but no worker answers how far it is. What is broken: fileconv doctor`],
      { cause: error },
    );
  });
}

/** @returns whether it is running. @throws CommandError when there is none of this name. */
export async function requireBatch({ client }: Pick<OpenTemporal, 'client'>, name: string): Promise<boolean> {
  const isRunning = await isBatchRunning(client, name);
  if (isRunning !== undefined) return isRunning;
  throw new CommandError('INPUT_UNUSABLE', [`There is no batch ${name}. See: fileconv batch list`]);
}

function batchOf({ client, taskQueue }: OpenTemporal, name: string) {
  return new FileConversionClient({ client, taskQueue }).getBatch(name);
}

function failed(error: unknown): unknown {
  if (!(error instanceof BatchFailedError)) return error;
  return new CommandError('BATCH_FAILED', [error.message], { cause: error });
}
