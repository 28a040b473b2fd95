import type { FindingList } from 'temporal-file-conversion/internal/batch/plan/findings';
import type { PlannedBatch } from 'temporal-file-conversion/internal/batch/plan/planned-batch';
import type { OnExisting } from 'temporal-file-conversion/internal/shared/job';
import { counted, formatCount } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { fileSize, formatTable, printable } from '../output/text';

const maxShown = 100;

const fates: Record<OnExisting, string> = {
  fail: 'these would fail',
  skip: 'these would be skipped',
  overwrite: 'these would be replaced',
  rename: 'the new ones would get another name',
};

/** @throws CommandError with a line for each problem that prevents the run. */
export function refuseProblems({ problems }: PlannedBatch): void {
  const [first, ...others] = lines(problems);
  if (first !== undefined) throw new CommandError('INPUT_UNUSABLE', [first, ...others]);
}

/** What a person should know before the batch runs. */
export function tellWarnings({ output }: CommandContext, { warnings, leftOut }: PlannedBatch): void {
  for (const line of lines(warnings)) output.warn(line);
  const { repeated, unsettled, ownResults } = leftOut;
  if (repeated > 0) output.say(`${counted(repeated, 'file')} named more than once, and taken once.`);
  if (unsettled > 0) output.say(`${counted(unsettled, 'file')} left out that may still be being written.`);
  if (ownResults > 0) output.say(`${counted(ownResults, 'result')} of earlier runs left out.`);
}

/** `--dry-run`: what would be done. `vcredits`: an estimate, where prices are known. */
export function tellDryRun(
  { output }: CommandContext,
  {
    name,
    plan,
    vcredits,
    onExisting,
  }: { name: string; plan: PlannedBatch; vcredits: number | undefined; onExisting: OnExisting },
): void {
  const { rows, done, refused, todo, bytes, formats, replaced, existing, warnings, leftOut } = plan;
  if (output.json) {
    output.printJson({
      batch: name,
      rows,
      done,
      refused,
      todo,
      bytes,
      formats,
      replaced,
      existing,
      warnings,
      leftOut,
      vcredits: vcredits ?? null,
    });
    return;
  }
  const before = done > 0 ? `, ${counted(done, 'file')} done before` : '';
  output.print(`Batch ${name}: ${counted(todo, 'file')} to convert (${fileSize(bytes)})${before}.`);
  if (formats.length > 0) {
    const table = formats.map((pair) => [pair.input || '?', pair.output, formatCount(pair.rows), fileSize(pair.bytes)]);
    output.print(formatTable(['FROM', 'TO', 'FILES', 'SIZE'], table));
  }
  if (replaced > 0)
    output.print(`${counted(replaced, 'result')} of earlier runs would be replaced: the sources changed.`);
  if (existing.count > 0) {
    const what = `${counted(existing.count, 'result')} that no run of this batch wrote, there already`;
    output.print(`${what}: ${fates[onExisting]} (--on-existing).`);
    for (const line of lines(existing)) output.print(printable(`  ${line}`));
  }
  output.print(
    vcredits === undefined
      ? 'vCredits: not known; the service tells the price of a conversion only with its result.'
      : `vCredits: about ${formatCount(vcredits)}, by what files of the last run have cost.`,
  );
  output.print('Nothing was done (--dry-run).');
}

function lines({ count, listed }: FindingList): string[] {
  const shown = listed.slice(0, maxShown).map(({ message }) => message);
  return count > shown.length ? [...shown, `and ${count - shown.length} more.`] : shown;
}
