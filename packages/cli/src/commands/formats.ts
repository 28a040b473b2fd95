import { versionsOf } from 'temporal-file-conversion-service/engines';
import type { Format } from 'temporal-file-conversion/contract';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { withFormats, embeddedCatalog, type FormatLookup } from '../formats/formats';
import { formatTable } from '../output/text';

export async function formats(
  context: CommandContext,
  format: string | undefined,
  { app = context.config.values.defaultApp, engines }: { app?: string; engines?: true },
): Promise<void> {
  if (engines) return listEngines(context);
  await withFormats(context, app, (lookup) => list(context, lookup, format), { mustAnswer: true });
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
    else output.print(formatTable(['FORMAT', 'TITLE'], byName(targets).map(titled)));
    return;
  }
  const inputs = await lookup.inputs();
  const mark = (list: readonly Format[], name: string) => (list.some((each) => each.format === name) ? 'yes' : '-');
  const rows = byName([...inputs, ...targets]).map((entry) => {
    const [name, title] = titled(entry);
    return [name, mark(inputs, name), mark(targets, name), title];
  });
  output.result({ inputs, outputs: targets }, formatTable(['FORMAT', 'READS', 'WRITES', 'TITLE'], rows));
}

function byName(entries: readonly Format[]): Format[] {
  const unique = new Map(entries.map((entry) => [entry.format, entry]));
  return [...unique.values()].sort((a, b) => a.format.localeCompare(b.format, 'en'));
}

function titled({ format, title, name }: Format): [name: string, title: string] {
  return [format, title ?? name ?? ''];
}

async function listEngines(context: CommandContext): Promise<void> {
  const engines = await Promise.all(
    embeddedCatalog(context)
      .engineStates()
      .map(async ({ engine, ...state }) => ({
        engine: engine.name,
        title: engine.title,
        versions: await versionsOf(engine),
        ...state,
      })),
  );
  const rows = engines.map(({ engine, title, versions, isHere, serves, adds, install }) => [
    engine,
    isHere ? versions.join(', ') : '-',
    String(serves),
    adds === 0 ? '-' : String(adds),
    install === undefined ? title : `${title}\nRun: ${install}`,
  ]);
  context.output.result({ engines }, formatTable(['ENGINE', 'HERE', 'PAIRS', 'WOULD ADD', ''], rows));
}
