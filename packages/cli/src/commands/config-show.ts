import { describeConfig } from '../config';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { formatTable } from '../table';

/** `fileconv config show`: every effective value and where it came from. */
export function configShow({ config, output }: CommandContext): Promise<ExitCode> {
  const rows = describeConfig(config);
  if (output.json) output.printJson({ file: config.file ?? null, values: rows });
  else {
    output.print(
      formatTable(
        ['KEY', 'VALUE', 'FROM'],
        rows.map((row) => [row.key, row.value, row.source]),
      ),
    );
  }
  return Promise.resolve(exitCodes.ok);
}
