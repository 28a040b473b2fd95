import { versionsOf } from 'temporal-file-conversion-service/internal/engines/presence';
import type { CommandContext } from '../command-context';
import { formatTable } from '../output/text';
import { embeddedCatalog } from './embedded-catalog';

/** The engines of the embedded service: the version of what is here, and what the others would add. */
export async function listEngines(context: CommandContext): Promise<void> {
  const { output } = context;
  const found = await Promise.all(
    embeddedCatalog(context)
      .engineStates()
      .map(async ({ engine, ...state }) => ({
        engine: engine.name,
        title: engine.title,
        versions: await versionsOf(engine),
        ...state,
      })),
  );
  if (output.json) {
    output.printJson({ engines: found });
    return;
  }
  const rows = found.map(({ engine, title, versions, isHere, serves, adds, install }) => [
    engine,
    isHere ? versions.join(', ') : '-',
    String(serves),
    adds === 0 ? '-' : String(adds),
    install === undefined ? title : `${title}\nRun: ${install}`,
  ]);
  output.print(formatTable(['ENGINE', 'HERE', 'PAIRS', 'WOULD ADD', ''], rows));
}

/** What each format converts to, by engine. */
export function listPairs(context: CommandContext): void {
  const { output } = context;
  const pairs = [...embeddedCatalog(context).pairs()].map(([pair, engine]) => {
    const [input = '', to = ''] = pair.split(' ');
    return { input, output: to, engine };
  });
  if (output.json) {
    output.printJson({ pairs });
    return;
  }
  const byRow = new Map<string, string[]>();
  for (const { input, output: to, engine } of pairs) {
    const row = `${input} ${engine}`;
    byRow.set(row, [...(byRow.get(row) ?? []), to]);
  }
  const rows = [...byRow].map(([row, outputs]) => [...row.split(' '), outputs.join(' ')]).sort();
  output.print(formatTable(['INPUT', 'ENGINE', 'OUTPUTS'], rows));
}
