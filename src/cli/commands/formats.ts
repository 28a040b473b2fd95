import Table from 'cli-table3';
import { createConversionApi } from '../../api/client';
import { ConversionApiError } from '../../api/errors';
import { embeddedApp } from '../../config';
import { listEmbeddedFormats } from '../../service';
import type { Format } from '../../api/contract';
import { appProfile, configuredServiceUrl } from '../app-profiles';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { CommandError, exitCodes, usageError } from '../exit';
import { readStackRecord } from '../stack/stack-record';
import { plainTable } from '../table';

/** `fileconv formats`: what the service reads and writes. */
export async function formats(
  context: CommandContext,
  { format, app: flag }: { format: string | undefined; app: string | undefined },
): Promise<ExitCode> {
  const { output, config } = context;
  const app = flag ?? config.values.defaultApp;
  const stack = await readStackRecord(config.values.state.dir);
  const profile = await appProfile(context, app, stack?.service.url ?? configuredServiceUrl(context));
  const token = typeof profile.token === 'function' ? await profile.token() : profile.token;
  const api = createConversionApi({ baseUrl: profile.baseUrl, appId: profile.appId, token });
  try {
    const outputs = await api.formats({ sublist: 'outputs', format });
    const inputs = format === undefined ? await api.formats({ sublist: 'inputs' }) : [];
    print(context, { inputs, outputs, of: format });
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    // The embedded service's formats are known without it, unless the question is about pairs.
    if (error.code === 'SERVICE_UNREACHABLE' && app === embeddedApp && format === undefined) {
      const all = listEmbeddedFormats();
      print(context, { inputs: all, outputs: all, of: undefined });
      return exitCodes.ok;
    }
    if (error.code === 'SERVICE_UNREACHABLE') {
      throw new CommandError(`The service can't be reached at ${profile.baseUrl}. Start it first: fileconv up`, 1, {
        cause: error,
      });
    }
    if (error.code === 'INVALID_INPUT_FORMAT' || error.code.startsWith('WRONG_')) throw usageError(error.message);
    throw error;
  } finally {
    await api.close();
  }
  return exitCodes.ok;

  function print(
    { output: to }: CommandContext,
    lists: { inputs: Format[]; outputs: Format[]; of: string | undefined },
  ): void {
    if (to.json) {
      to.printJson(
        lists.of === undefined
          ? { inputs: lists.inputs, outputs: lists.outputs }
          : { input: lists.of, outputs: lists.outputs },
      );
      return;
    }
    const reads = new Set(lists.inputs.map((entry) => entry.format));
    const writes = new Set(lists.outputs.map((entry) => entry.format));
    const rows = new Map([...lists.inputs, ...lists.outputs].map((entry) => [entry.format, entry]));
    const table = new Table({
      ...plainTable,
      head: lists.of === undefined ? ['FORMAT', 'READS', 'WRITES', 'TITLE'] : ['FORMAT', 'TITLE'],
    });
    for (const [name, entry] of [...rows].sort(([a], [b]) => a.localeCompare(b))) {
      const title = entry.title ?? entry.name ?? '';
      table.push(lists.of === undefined ? [name, mark(reads.has(name)), mark(writes.has(name)), title] : [name, title]);
    }
    output.print(table.toString());
  }
}

function mark(yes: boolean): string {
  return yes ? 'yes' : '-';
}
