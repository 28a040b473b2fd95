import type { BatchHandle } from 'temporal-file-conversion/internal/client/batch-handle';
import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import { InvalidRequestError } from 'temporal-file-conversion/internal/client/job-request';
import type { BatchState } from 'temporal-file-conversion/internal/shared/batch';
import { counted, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { checkName } from '../../batch/settings';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { withTemporal } from '../../stack/open-temporal';
import { requireBatch } from './look';

export function pauseBatch(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (batch) => {
    const state = await batch.pause();
    return { state, message: `Batch ${name} starts no more jobs. Go on: fileconv batch resume ${shellWord(name)}` };
  });
}

export function resumeBatch(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (batch) => {
    const state = await batch.resume();
    return { state, message: `Batch ${name} goes on.` };
  });
}

export function changeWindow(context: CommandContext, name: string, window: number): Promise<void> {
  return control(context, name, async (batch) => {
    const state = await batch.setWindow(window);
    return { state, message: `Batch ${name} has up to ${counted(window, 'job')} in flight from now on.` };
  });
}

export function cancelBatch(context: CommandContext, name: string, { finish }: { finish?: boolean }): Promise<void> {
  return control(context, name, async (batch) => {
    const state = await batch.cancel({ inFlight: finish ? 'finish' : 'cancel' });
    const fate = finish ? 'those in flight end' : 'those in flight are cancelled';
    const message = `Batch ${name} starts no more jobs, and ${fate}. The same batch run again goes on with the rest.`;
    return { state, message };
  });
}

async function control(
  context: CommandContext,
  name: string,
  act: (batch: BatchHandle) => Promise<{ state: BatchState | undefined; message: string }>,
): Promise<void> {
  checkName(name);
  const { output } = context;
  return withTemporal(context, async (temporal) => {
    if (!(await requireBatch(temporal, name))) {
      throw new CommandError('INPUT_UNUSABLE', [
        `Batch ${name} has ended. See: fileconv batch report ${shellWord(name)}`,
      ]);
    }
    const { client, taskQueue } = temporal;
    const batch = new FileConversionClient({ client, taskQueue }).getBatch(name);
    const { state, message } = await act(batch).catch((error: unknown) => {
      if (!(error instanceof InvalidRequestError)) throw error;
      throw new CommandError('INPUT_UNUSABLE', [`Batch ${name}: ${error.message}`], { cause: error });
    });
    if (output.json) output.printJson({ batch: name, message, ...(state && { state }) });
    else output.print(message);
    if (!state) output.warn('No worker has answered: the batch hears of it when one runs (fileconv worker).');
  });
}
