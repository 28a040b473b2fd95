import type { Finding } from 'temporal-file-conversion/internal/batch/plan/findings';
import type { PlannedBatch, RefusedCount } from 'temporal-file-conversion/internal/batch/plan/planned-batch';
import type { AskedPair, AskPair } from 'temporal-file-conversion/internal/batch/plan/settle-row';
import type { Refusal } from 'temporal-file-conversion/internal/shared/batch';
import { counted } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { capitalised, whyNot, withFormats } from '../formats/check';

/** Asks the service once for each pair of formats of a plan, one after the other; one warning when it can't be asked. */
export function askPairs(
  context: CommandContext,
  { app, signal, isDry }: { app: string; signal: AbortSignal; isDry: boolean },
): AskPair {
  const answers = new Map<string, Promise<Refusal | undefined>>();
  let last: Promise<unknown> = Promise.resolve();
  let isSilent = false;
  const ask = async ({ extension, input, output }: AskedPair): Promise<Refusal | undefined> => {
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
  return (pair) => {
    const key = JSON.stringify([pair.extension, pair.input, pair.output]);
    const known = answers.get(key);
    if (known) return known;
    const answer = last.then(() => ask(pair));
    last = answer.catch(() => (isSilent = true));
    answers.set(key, answer);
    return answer;
  };
}

/** The plan with unsupported pairs among its warnings or, when there is nothing else to do, among its problems. */
export function withRefused(plan: PlannedBatch): PlannedBatch {
  const { refused, todo, warnings, problems } = plan;
  if (refused.length === 0) return plan;
  const isAll = todo === 0;
  const found = refused.map((each): Finding => ({ code: 'FORMAT_UNUSABLE', message: tell(each, isAll) }));
  if (isAll)
    return { ...plan, problems: { count: problems.count + found.length, listed: [...problems.listed, ...found] } };
  return { ...plan, warnings: { count: warnings.count + found.length, listed: [...warnings.listed, ...found] } };
}

function tell({ rows, input, refusal }: RefusedCount, isAll: boolean): string {
  const files = counted(rows, 'file') + (input && ` of format ${input}`);
  const { message } = refusal;
  const fate = isAll ? '' : ', and will fail without being uploaded';
  return `${files} can't be converted${fate}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}
