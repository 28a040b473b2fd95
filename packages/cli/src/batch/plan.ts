import { addAbortSignal } from 'node:stream';
import {
  askingOf,
  type FormatQuestions,
  messagesOf,
  planDry,
  type PlannedBatch,
  summaryOf,
} from 'temporal-file-conversion/batch';
import type { BatchPlan, CostEstimate, OnExisting, OnUnknownOutcome } from 'temporal-file-conversion/job';
import { counted, fileSize, formatCount, printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { exitCodes, interrupted, throwIfAny, type ExitCode } from '../command-error';
import { withFormats, type FormatLookup } from '../formats/formats';
import { formatTable } from '../output/text';
import { filesOf } from '../stores';

export async function showPlan(
  context: CommandContext,
  { plan, app, onExisting, ...rules }: DryRun,
  signal: AbortSignal,
): Promise<PlannedBatch> {
  const ask = askingOf(questions(context, { app, signal }), onExisting);
  // Whoever reads it gets the error; without a reader at that moment, it must not count as uncaught.
  const piped = addAbortSignal(
    signal,
    context.stdin.on('error', () => undefined),
  );
  const planned = await planDry({ ...plan, ...rules, files: filesOf(context), ask, signal, piped }).catch(
    (error: unknown) => {
      if (!signal.aborted) throw error;
      throw interrupted(error);
    },
  );
  refuseProblems(context, planned);
  for (const line of summaryOf(planned).warnings) context.output.warn(printable(line));
  return planned;
}

interface DryRun {
  plan: BatchPlan;
  app: string;
  onExisting: OnExisting | undefined;
  onUnknownOutcome: OnUnknownOutcome | undefined;
  again: boolean;
}

/** Asks one question at a time, and warns only once if the service can't be asked. */
function questions(context: CommandContext, { app, signal }: { app: string; signal: AbortSignal }): FormatQuestions {
  let last: Promise<unknown> = Promise.resolve();
  let isSilent = false;
  const ask = <Answer>(question: (lookup: FormatLookup) => Promise<Answer>): Promise<Answer | undefined> => {
    const answer = last.then(async () => {
      if (isSilent) return undefined;
      const boxed = async (lookup: FormatLookup) => ({ answer: await question(lookup) });
      const answered = await withFormats(context, app, boxed, { signal, mayBeAway: true });
      isSilent = !answered;
      return answered?.answer;
    });
    last = answer.catch(() => (isSilent = true));
    return answer;
  };
  return {
    answerAboutPair: (pair) => ask((lookup) => lookup.answerAboutPair(pair)),
    targets: () => ask(async (lookup) => (await lookup.targets())?.map(({ format }) => format)),
  };
}

const maxShown = 100;

const consequences: Record<OnExisting, string> = {
  fail: 'these would fail, unless others made them from the same files',
  skip: 'these would be skipped',
  overwrite: 'these would be replaced',
  rename: 'the new ones would get another name',
};

function refuseProblems({ output }: CommandContext, { problems, warnings, todo }: PlannedBatch): void {
  // The files left out explain why there is nothing to do.
  if (problems.count > 0 && todo === 0) for (const line of messagesOf(warnings, maxShown)) output.warn(line);
  throwIfAny('INPUT_UNUSABLE', messagesOf(problems, maxShown));
}

export function costText(estimate: CostEstimate): string {
  const { vcredits, from, unknown } = estimate;
  const others = unknown > 0 ? ` ${counted(unknown, 'file')} of other pairs not in it.` : '';
  return `vCredits: about ${formatCount(vcredits)} (from ${counted(from, 'conversion')} of these pairs).${others}`;
}

/** `--dry-run`: prints what would be done. `estimate`: set if prices are known. Exits as the run would, as far as that is known. */
export function showDryRun(
  { output }: CommandContext,
  {
    name,
    plan,
    estimate,
    onExisting,
    maxVcredits = Infinity,
  }: {
    name: string;
    plan: PlannedBatch;
    estimate: CostEstimate | undefined;
    onExisting: OnExisting;
    maxVcredits: number | undefined;
  },
): ExitCode {
  const { totals, leftOut, warnings, ...counts } = plan;
  const { done, todo, bytes, formats, replaced, existing, folders, spent } = counts;
  const { failed } = totals;
  const isSpent = todo > 0 && spent >= maxVcredits;
  const blocked = { fail: existing.count, skip: folders, overwrite: folders, rename: 0 }[onExisting];
  const wouldFail = isSpent || failed + leftOut.unread + blocked > 0;
  const exitCode = wouldFail ? exitCodes.failed : exitCodes.ok;
  if (output.json) {
    const vcredits = estimate?.vcredits ?? null;
    output.printJson({ batch: name, ...counts, problems: undefined, failed, warnings, leftOut, vcredits, estimate });
    return exitCode;
  }
  const before = done > 0 ? `, ${counted(done, 'file')} done before` : '';
  const failing = failed > 0 ? `, ${counted(failed, 'file')} will fail` : '';
  output.print(`Batch ${name}: ${counted(todo, 'file')} to convert (${fileSize(bytes)})${before}${failing}.`);
  if (formats.length > 0) {
    const table = formats.map((pair) => [pair.input || '?', pair.output, formatCount(pair.rows), fileSize(pair.bytes)]);
    output.print(formatTable(['FROM', 'TO', 'FILES', 'SIZE'], table));
  }
  if (replaced > 0) output.print(`${counted(replaced, 'result')} of earlier runs would be replaced.`);
  if (existing.count > 0) {
    const what = `${counted(existing.count, 'result')} that no run of this batch wrote, there already`;
    output.print(`${what}: ${consequences[onExisting]} (--on-existing).`);
    for (const line of messagesOf(existing, maxShown)) output.print(printable(`  ${line}`));
    if (blocked > 0 && onExisting !== 'fail') {
      output.print(`${counted(blocked, 'of them is a folder: this', 'of them are folders: these')} would fail.`);
    }
  }
  const unknown = 'vCredits: not known; the service tells the price of a conversion only with its result.';
  if (todo > 0) output.print(estimate ? costText(estimate) : unknown);
  if (isSpent) output.print(`Of --max-vcredits, ${formatCount(spent)} are spent: nothing would be started.`);
  output.print('Nothing was done (--dry-run).');
  return exitCode;
}
