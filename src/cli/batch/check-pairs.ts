import type { Finding } from '../../batch/plan/findings';
import type { PlannedBatch } from '../../batch/plan/planned-batch';
import { counted } from '../../batch/report/wording';
import type { CommandContext } from '../command-context';
import { whyNot } from '../convert/formats-check';
import { withFormats } from '../formats/with-formats';

/**
 * The plan, with what the service does not convert among its warnings, or, when that is all there is to do, among its problems. Asks once
 * for each pair of formats, and nothing when nothing is to be done.
 */
export async function checkPairs(
  context: CommandContext,
  plan: PlannedBatch,
  { app, signal, isDry }: { app: string; signal: AbortSignal; isDry: boolean },
): Promise<PlannedBatch> {
  if (plan.formats.length === 0 || plan.problems.count > 0) return plan;
  const reasons = await withFormats(
    context,
    app,
    async (lookup) => {
      const found: { files: string; reason: string }[] = [];
      for (const { input, extension, output, rows } of plan.formats) {
        const from = input === extension ? undefined : input;
        const reason = await whyNot(lookup, { extension, from, to: output });
        if (reason !== undefined)
          found.push({ files: counted(rows, 'file') + (input && ` of format ${input}`), reason });
      }
      return found;
    },
    { signal, mayBeAway: isDry },
  );
  if (!reasons || reasons.length === 0) return plan;
  const code = 'FORMAT_UNUSABLE';
  if (reasons.length === plan.formats.length) {
    const listed = reasons.map(({ files, reason }): Finding => ({
      code,
      message: `${files} can't be converted: ${reason}`,
    }));
    return { ...plan, problems: { count: listed.length, listed } };
  }
  const more = reasons.map(({ files, reason }): Finding => {
    return { code, message: `${files} can't be converted, and will fail: ${reason}` };
  });
  const { count, listed } = plan.warnings;
  return { ...plan, warnings: { count: count + more.length, listed: [...listed, ...more] } };
}
