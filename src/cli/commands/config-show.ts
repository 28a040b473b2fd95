import Table from 'cli-table3';
import { describeConfig } from '../../config';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { plainTable } from '../table';

/** `fileconv config show`: every effective value and where it came from. */
export function configShow({ config, output }: CommandContext): Promise<ExitCode> {
  const rows = describeConfig(config);
  if (output.json) output.printJson({ file: config.file ?? null, values: rows });
  else {
    const table = new Table({ ...plainTable, head: ['KEY', 'VALUE', 'FROM'] });
    table.push(...rows.map((row) => [row.key, row.value, row.source]));
    output.print(table.toString());
  }
  return Promise.resolve(exitCodes.ok);
}
