import { createHash } from 'node:crypto';
import { oncePerPair, type AskAnswer, type AskPair } from '../batch/plan/settle-row';
import type { ConversionApi } from '../http/conversion-api';
import { capitalised, noConverter } from '../shared/wording';

/** What a sweep asks the service, once for each pair. A service that does not say refuses nothing: the jobs find out. */
export function formatQuestions(api: () => ConversionApi, signal: AbortSignal): { ask: AskPair; askAnswer: AskAnswer } {
  const told = <Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> =>
    question().catch(() => {
      signal.throwIfAborted();
      return undefined;
    });
  return {
    ask: oncePerPair(async ({ extension, input = extension, output }) => {
      if (input === '' || (await told(async () => api().canConvert({ input, output, signal }))) !== false)
        return undefined;
      return { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: capitalised(noConverter(input, output)) };
    }),
    askAnswer: oncePerPair(async ({ extension, input = extension }) => {
      const formats = await told(async () => api().formats({ sublist: 'outputs', format: input, signal }));
      const names = formats?.map(({ format }) => format).sort();
      return names && createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
    }),
  };
}
