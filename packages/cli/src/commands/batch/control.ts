import { type BatchHandle, FileConversionClient, InvalidRequestError } from 'temporal-file-conversion/client';
import type { BatchState } from 'temporal-file-conversion/job';
import { counted, shellWord } from 'temporal-file-conversion/messages';
import { checkName } from '../../batch/settings';
import type { CommandContext } from '../../command-context';
import { CommandError, explaining } from '../../command-error';
import { withTemporal } from '../../stack/open-temporal';
import { requireBatch } from './look';

export function pauseBatch(context: CommandContext, name: string): Promise<void> {
  const message = `Batch ${name} starts no more jobs. Continue: fileconv batch resume ${shellWord(name)}`;
  return control(context, { name, message }, (batch) => batch.pause());
}

export function resumeBatch(context: CommandContext, name: string): Promise<void> {
  return control(context, { name, message: `Batch ${name} continues.` }, (batch) => batch.resume());
}

export function changeWindow(context: CommandContext, name: string, window: number): Promise<void> {
  const message = `Batch ${name} has up to ${counted(window, 'job')} in flight from now on.`;
  return control(context, { name, message }, (batch) => batch.setWindow(window));
}

export function cancelBatch(context: CommandContext, name: string, { finish }: { finish?: boolean }): Promise<void> {
  const consequence = finish ? 'those in flight end' : 'those in flight are cancelled';
  const message = `Batch ${name} starts no more jobs, and ${consequence}. The same batch run again continues with the rest.`;
  return control(context, { name, message }, (batch) => batch.cancel({ inFlight: finish ? 'finish' : 'cancel' }));
}

async function control(
  context: CommandContext,
  { name, message }: { name: string; message: string },
  act: (batch: BatchHandle) => Promise<BatchState | undefined>,
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
    const refused = (error: InvalidRequestError) => `Batch ${name}: ${error.message}`;
    const state = await act(new FileConversionClient({ client, taskQueue }).getBatch(name)).catch(
      explaining(InvalidRequestError, 'INPUT_UNUSABLE', refused),
    );
    output.result({ batch: name, message, ...(state && { state }) }, message);
    if (!state) output.warn('No worker has answered: the batch hears of it when one runs (fileconv worker).');
  });
}
