import { createHash } from 'node:crypto';
import { RefusedPlanError } from '../batch/plan/findings';
import { planBatch, planOptions } from '../batch/plan/plan-batch';
import { summaryOf } from '../batch/plan/planned-batch';
import { replanFailed } from '../batch/plan/replan-failed';
import { oncePerPair, type AskAnswer, type AskPair } from '../batch/plan/settle-row';
import { saveRequest } from '../batch/request';
import { removeOldRuns } from '../batch/run-folders';
import type { ConversionApi } from '../http/conversion-api';
import { ConversionApiError } from '../http/errors';
import type { Refusal } from '../shared/batch';
import { defined } from '../shared/defined';
import type { PlanBatchInput, PlanBatchResult } from '../shared/batch-activities';
import { capitalised, noConverter } from '../shared/wording';
import type { FileStore } from '../storage/file-store';
import { batchStep, type ActivityDependencies } from './activity-attempt';

/**
 * Plans a run of a batch: what is new or changed since the last one. Idempotent: an attempt that is lost at most leaves a
 * run that never started, which changes nothing of what the next one finds.
 */
export function createPlanBatch({ files, api }: Pick<ActivityDependencies, 'files' | 'api'>) {
  return batchStep(async (input: PlanBatchInput, { signal, jobKey, attempt }): Promise<PlanBatchResult> => {
    const { app, plan, request, tags } = input;
    const planned = await find(files, input, { ...questions(() => api(app), input, signal), signal });
    const { run, rows, problems } = planned;
    if (problems.count > 0) throw new RefusedPlanError(problems, planned.warnings);
    await removeOldRuns(files, plan.folder);
    if (run) await saveRequest(files, plan.folder, defined({ request, tags }), { jobKey, attempt, signal });
    return { ...(run && { run: { folder: run.folder, rows } }), planned: summaryOf(planned) };
  });
}

function find(
  files: FileStore,
  { plan, onUnknownOutcome, again, isScheduled }: PlanBatchInput,
  asking: { ask: AskPair; askAnswer: AskAnswer; signal: AbortSignal },
) {
  const { folder: batchFolder, what, stdin, unconvertible } = plan;
  const { ask, askAnswer, signal } = asking;
  const rules = { files, onUnknownOutcome, again, ask, signal };
  if (what === 'last') return replanFailed({ ...rules, batchFolder, unconvertible });
  return planBatch({
    ...planOptions({ ...plan, what }),
    ...rules,
    mayBeEmpty: isScheduled,
    ...(stdin !== undefined && { stdin: files.read(stdin, { signal }) }),
    // What the service has refused is sent again when somebody asks for it.
    ...(isScheduled && { askAnswer }),
  });
}

/** Whatever its format is said to be. */
const nameless: Refusal = {
  code: 'NOT_VALID_EXTENSION',
  message:
    "By the extension of its name the service tells a file's format, and there is none. Rename it, for example to NAME.md.",
};

/** What the service is asked, once for each pair. One that does not say refuses nothing: the jobs find out. */
function questions(
  api: () => ConversionApi,
  { onExisting }: PlanBatchInput,
  signal: AbortSignal,
): { ask: AskPair; askAnswer: AskAnswer } {
  const told = <Answer, Refused = undefined>(
    question: () => Promise<Answer>,
    refused?: (error: ConversionApiError) => Refused | undefined,
  ): Promise<Answer | Refused | undefined> =>
    question().catch((error: unknown) => {
      signal.throwIfAborted();
      return error instanceof ConversionApiError ? refused?.(error) : undefined;
    });
  const ask = oncePerPair(async ({ extension, input: named, output }): Promise<Refusal | undefined> => {
    const input = named ?? extension;
    if (extension === '') return nameless;
    const answer = await told(
      async () => api().canConvert({ input, output, signal }),
      (error) => {
        const { code } = error;
        // An extension that is no format may be known all the same, as `jpg` is.
        const unknown = code === 'INVALID_OUTPUT_FORMAT' ? output : code === 'INVALID_INPUT_FORMAT' ? named : undefined;
        if (unknown === undefined) return undefined;
        return { code, message: `The service knows no format ${unknown}. See: fileconv formats` };
      },
    );
    if (answer !== false) return answer === true ? undefined : answer;
    return { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: capitalised(noConverter(input, output)) };
  });
  return {
    // Rows that are skipped anyway need no answer.
    ask: (pair) => (pair.exists && onExisting === 'skip' ? Promise.resolve(undefined) : ask(pair)),
    askAnswer: oncePerPair(async ({ extension, input = extension }) => {
      const formats = await told(async () => api().formats({ sublist: 'outputs', format: input, signal }));
      const names = formats?.map(({ format }) => format).sort();
      return names && createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
    }),
  };
}
