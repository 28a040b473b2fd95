import type { BatchHandle } from 'temporal-file-conversion/internal/client/batch-handle';
import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import { counted, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { checkName } from '../../batch/settings';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { withTemporal } from '../../stack/open-temporal';
import { requireBatch } from './look';

export function pauseBatch(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (batch) => {
    await batch.pause();
    return `Batch ${name} starts no more jobs. Go on: fileconv batch resume ${shellWord(name)}`;
  });
}

export function resumeBatch(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (batch) => {
    await batch.resume();
    return `Batch ${name} goes on.`;
  });
}

export function changeWindow(context: CommandContext, name: string, window: number): Promise<void> {
  return control(context, name, async (batch) => {
    await batch.setWindow(window);
    return `Batch ${name} has up to ${counted(window, 'job')} in flight from now on.`;
  });
}

export function cancelBatch(context: CommandContext, name: string, { finish }: { finish?: boolean }): Promise<void> {
  return control(context, name, async (batch) => {
    await batch.cancel({ inFlight: finish ? 'finish' : 'cancel' });
    const fate = finish ? 'those in flight end' : 'those in flight are cancelled';
    return `Batch ${name} starts no more jobs, and ${fate}. The same batch run again goes on with the rest.`;
  });
}

async function control(
  context: CommandContext,
  name: string,
  act: (batch: BatchHandle) => Promise<string>,
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
    const told = await act(new FileConversionClient({ client, taskQueue }).getBatch(name));
    if (output.json) output.printJson({ batch: name, message: told });
    else output.print(told);
  });
}
