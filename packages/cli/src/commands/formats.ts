import type { Format } from 'temporal-file-conversion/contract';
import { ConversionApiError } from 'temporal-file-conversion/internal/http/errors';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { embeddedFormats, nameOf, serviceFormats, type FormatLookup } from '../formats/lookup';
import { formatTable } from '../output/text';
import { isEmbedded } from '../service/app-profiles';
import { explainServiceFailure } from '../service/service-problem';

interface FormatsQuery {
  /** Only what this format converts to. */
  format: string | undefined;
  app: string | undefined;
}

/** `fileconv formats`: what the service reads and writes. */
export async function formats(context: CommandContext, query: FormatsQuery): Promise<ExitCode> {
  const app = query.app ?? context.config.values.defaultApp;
  if (isEmbedded(context, app)) {
    await list(context, embeddedFormats(), query.format);
    return exitCodes.ok;
  }
  const { openApi } = await import('../service/open-api.js');
  const { api, baseUrl } = await openApi(context, app);
  try {
    await list(context, serviceFormats(api), query.format);
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    throw explainServiceFailure(error, { app, baseUrl }) ?? error;
  } finally {
    await api.close();
  }
}

async function list({ output }: CommandContext, lookup: FormatLookup, format: string | undefined): Promise<void> {
  const targets = await lookup.targets(format);
  if (!targets) {
    throw new CommandError('FORMAT_UNUSABLE', [`The service knows no format ${format ?? ''}. See: fileconv formats`]);
  }
  if (format !== undefined) {
    if (output.json) output.printJson({ input: format, outputs: targets });
    else if (targets.length === 0)
      output.say(`The service converts ${format} to no other format. See: fileconv formats`);
    else
      output.print(
        formatTable(
          ['FORMAT', 'TITLE'],
          byName(targets).map(([name, entry]) => [name, titleOf(entry)]),
        ),
      );
    return;
  }
  const inputs = await lookup.inputs();
  if (output.json) {
    output.printJson({ inputs, outputs: targets });
    return;
  }
  const reads = new Set(inputs.map(nameOf));
  const writes = new Set(targets.map(nameOf));
  const rows = byName([...inputs, ...targets]).map(([name, entry]) => [
    name,
    reads.has(name) ? 'yes' : '-',
    writes.has(name) ? 'yes' : '-',
    titleOf(entry),
  ]);
  output.print(formatTable(['FORMAT', 'READS', 'WRITES', 'TITLE'], rows));
}

/** Each format once, in alphabetical order. */
function byName(entries: readonly Format[]): [name: string, format: Format][] {
  const unique = new Map(entries.map((entry) => [nameOf(entry), entry]));
  return [...unique].sort(([a], [b]) => a.localeCompare(b, 'en'));
}

function titleOf({ title, name }: Format): string {
  return title ?? name ?? '';
}
