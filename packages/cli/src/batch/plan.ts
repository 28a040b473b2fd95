import type { Finding, FindingList } from 'temporal-file-conversion/internal/batch/plan/findings';
import type { PlannedBatch, RefusedCount } from 'temporal-file-conversion/internal/batch/plan/planned-batch';
import { oncePerPair, type AskPair, type FormatPair } from 'temporal-file-conversion/internal/batch/plan/settle-row';
import type { Refusal } from 'temporal-file-conversion/internal/shared/batch';
import type { OnExisting } from 'temporal-file-conversion/internal/shared/job';
import type { Unconvertible } from 'temporal-file-conversion/internal/shared/policies';
import {
  capitalised,
  counted,
  fileSize,
  formatCount,
  printable,
} from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { interrupted, throwIfAny } from '../command-error';
import { whyNot, withFormats } from '../formats/check';
import { formatTable } from '../output/text';
import type { JobSettings } from './settings';

export interface Planning {
  signal: AbortSignal;
  ask: AskPair;
}

interface PlanRules {
  settings: JobSettings;
  signal: AbortSignal;
  isDry: boolean;
  /** After a batch that was watched to its end. */
  isJoined?: boolean;
}

export async function planOrRefuse(
  context: CommandContext,
  { settings, signal, isDry, isJoined = false }: PlanRules,
  plan: (planning: Planning) => Promise<PlannedBatch>,
): Promise<PlannedBatch> {
  const { app, onExisting } = settings;
  const askPair = askPairs(context, { app, signal, isDry });
  // Items that are skipped anyway need no check.
  const ask: AskPair = (pair) => (pair.exists && onExisting === 'skip' ? Promise.resolve(undefined) : askPair(pair));
  const planned = await plan({ signal, ask }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw interrupted(error);
  });
  const checked = withRefused(planned, { unconvertible: settings.unconvertible, isJoined });
  refuseProblems(context, checked);
  tellWarnings(context, checked);
  return checked;
}

/** Asks the service once for each pair of formats of a plan, one after the other; one warning when it can't be asked. */
function askPairs(
  context: CommandContext,
  { app, signal, isDry }: { app: string; signal: AbortSignal; isDry: boolean },
): AskPair {
  let last: Promise<unknown> = Promise.resolve();
  let isSilent = false;
  const ask = async ({ extension, input, output }: FormatPair): Promise<Refusal | undefined> => {
    if (isSilent) return undefined;
    const answer = await withFormats(
      context,
      app,
      async (lookup) => ({ refusal: await whyNot(lookup, { extension, from: input, to: output }) }),
      { signal, mayBeAway: isDry },
    );
    isSilent = !answer;
    const refusal = answer?.refusal;
    if (!refusal || refusal.isGuess) return undefined;
    return { code: refusal.code, message: capitalised(refusal.reason) };
  };
  return oncePerPair((pair) => {
    const answer = last.then(() => ask(pair));
    last = answer.catch(() => (isSilent = true));
    return answer;
  });
}

/** The plan with unsupported pairs among its warnings or, when there is nothing else to do, among its problems. */
function withRefused(
  plan: PlannedBatch,
  { unconvertible = 'fail', isJoined }: { unconvertible: Unconvertible | undefined; isJoined: boolean },
): PlannedBatch {
  const { refused, todo } = plan;
  if (refused.length === 0) return plan;
  const isNothingLeft = todo === 0 && unconvertible === 'fail';
  const fate =
    unconvertible === 'skip'
      ? ', and will be skipped'
      : ', and will fail without being uploaded (--unconvertible skip leaves them out)';
  const found = refused.map((each): Finding => ({
    code: 'FORMAT_UNUSABLE',
    message: tell(each, isNothingLeft ? '' : fate),
  }));
  // A batch that was watched to its end has a report to be told.
  const kind = isNothingLeft && !isJoined ? 'problems' : 'warnings';
  const { count, listed } = plan[kind];
  return { ...plan, [kind]: { count: count + found.length, listed: [...listed, ...found] } };
}

function tell({ rows, input, first, refusal }: RefusedCount, fate: string): string {
  const which = input ? `of format ${input}` : `(${first}${rows > 1 ? ', …' : ''})`;
  const files = `${counted(rows, 'file')} ${which}`;
  const { message } = refusal;
  return `${files} can't be converted${fate}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

const maxShown = 100;

const fates: Record<OnExisting, string> = {
  fail: 'these would fail',
  skip: 'these would be skipped',
  overwrite: 'these would be replaced',
  rename: 'the new ones would get another name',
};

/** @throws CommandError with a line for each problem that prevents the run. */
function refuseProblems({ output }: CommandContext, { problems, warnings, todo }: PlannedBatch): void {
  // What was left out is why there is nothing to do.
  if (problems.count > 0 && todo === 0) for (const line of lines(warnings)) output.warn(line);
  throwIfAny('INPUT_UNUSABLE', lines(problems));
}

function tellWarnings({ output }: CommandContext, { warnings, leftOut }: PlannedBatch): void {
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
  const { rows, done, missing, refused, todo, bytes, formats, replaced, existing, warnings, leftOut } = plan;
  if (output.json) {
    const counts = { rows, done, missing, refused, todo, bytes, formats, replaced, existing, warnings, leftOut };
    output.printJson({ batch: name, ...counts, vcredits: vcredits ?? null });
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
