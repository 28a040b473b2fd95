import type { z } from 'zod';
import {
  convertOutputSchema,
  downloadUrlOutputSchema,
  endpoints,
  formatSchema,
  formatsOutputSchema,
  graphOutputSchema,
  taskResponseSchema,
  uploadOutputSchema,
  type IncludeItem,
  type TaskResponse,
} from '../contract/endpoints';
import { defined } from '../job/defined';
import { boundWarnings, maxWarnings, hasAny } from '../job/warnings';
import { readErrorObject, unreadableShape, type ReadAnswer } from './answer';
import { ServiceConnection } from './connection';
import type { TaskSnapshot, ConversionApi, ConversionApiOptions } from './conversion-api';
import { openDownload } from './download';
import { ConversionApiError, unreadableAnswer } from './errors';
import { textOf, type Quote } from './quote';
import { sendFile } from './upload';

export type * from './conversion-api';

/** The items to ask for of a task. */
const whole: IncludeItem[] = ['entity', 'result'];

/** A client for one app profile, with its own pool of keep-alive connections. Call `close` when done. */
export function openConversionApi(options: ConversionApiOptions): ConversionApi {
  const connection = new ServiceConnection(options);
  const { quote } = connection;

  /** The task-specific output of a response; each task has its own shape. */
  function readOutput<Output>(answer: ReadAnswer, schema: z.ZodType<Output>): Output {
    const parsed = schema.safeParse(answer.result?.output);
    if (parsed.success) return parsed.data;
    throw unreadableShape(answer.raw, quote, parsed.error);
  }

  return {
    async uploadFile(upload) {
      const answer = await connection.readTaskResponse(endpoints.uploadFile, await sendFile(connection, upload));
      const { connector } = readOutput(answer, uploadOutputSchema);
      return { connector, warnings: readWarnings(answer.result?.warning, quote) };
    },

    async convertFile({ connector, output, input, parameters, mode = 'async', callback, signal, turn }) {
      const asked = { ...parameters, ...defined({ output, input }) };
      const answer = await connection.call(
        endpoints.convertFile,
        defined({ connector, include: whole, mode, callback, parameters: asked }),
        { signal, turn, answersWhenDone: mode === 'sync' },
      );
      const snapshot = readSnapshot(answer, quote);
      if (snapshot.connector !== undefined) return snapshot;
      // A task without a connector cannot be polled.
      throw unreadableShape(answer.raw, quote);
    },

    async taskResponse({ connector, withPayload = false, signal, turn }) {
      const include = withPayload ? [...whole, 'payload'] : whole;
      const data = { connector, parameters: { include } };
      const answer = await connection.call(endpoints.taskResponse, data, { signal, turn });
      const monitored = readOutput(answer, taskResponseSchema);
      if (!monitored.entity && !monitored.result) throw unreadableShape(answer.raw, quote);
      const snapshot = { ...readSnapshot(monitored, quote), ...(withPayload && { payload: monitored.payload }) };
      // Section "Entity keys": the id of the task is the connector that was asked about; the result of another task must not be delivered
      // as its own. A UUID is the same in upper case.
      const named = [snapshot.taskId, snapshot.connector].filter((each) => each !== undefined);
      if (named.length === 0 || named.some((each) => each.toLowerCase() === connector.toLowerCase())) return snapshot;
      const { endpoint, httpStatus } = answer.raw;
      throw unreadableAnswer(endpoint, `HTTP ${httpStatus}, but the answer is about another task`, { httpStatus });
    },

    async downloadUrl({ connector, signal, turn }) {
      const answer = await connection.call(endpoints.downloadUrl, { connector }, { signal, turn });
      const { connector: file, size, url } = readOutput(answer, downloadUrlOutputSchema);
      const warnings = readWarnings(answer.result?.warning, quote);
      return { ...defined({ connector: file, size, url }), ...(hasAny(warnings) && { warnings }) };
    },

    download: (options) => openDownload(connection, options),

    async formats({ sublist, format, signal }) {
      const parameters = defined({ sublist, format });
      const answer = await connection.call(endpoints.convertFormats, { parameters }, { signal });
      const { formats } = readOutput(answer, formatsOutputSchema);
      return formats.map((each) => (typeof each === 'string' ? { format: each } : each));
    },

    async format({ format, signal }) {
      const answer = await connection.call(endpoints.formatGet, { parameters: { format } }, { signal });
      return readOutput(answer, formatSchema);
    },

    async canConvert({ input, output, signal }) {
      try {
        const answer = await connection.call(endpoints.convertGraph, { parameters: { input, output } }, { signal });
        return readOutput(answer, graphOutputSchema).is_match !== false;
      } catch (error) {
        if (error instanceof ConversionApiError && error.code === 'NO_CONVERTER_INPUT_TO_OUTPUT') return false;
        throw error;
      }
    },

    close: () => connection.close(),
  };
}

/** The state of a conversion task (sections "Entity keys" and "Output of the convert-file task"). */
function readSnapshot({ entity, result }: TaskResponse, quote: Quote): TaskSnapshot {
  const output = convertOutputSchema.safeParse(result?.output ?? {}).data ?? {};
  const error = readErrorObject(result?.error);
  // The result is empty while a task runs, so an output or an error means that it is over.
  const hasOutput = Object.keys(result?.output ?? {}).length > 0;
  // Section "Entity keys": the id of a task that produces a connector equals that connector.
  const taskId = entity?.id === '' ? undefined : entity?.id;
  return {
    ...defined({
      taskId,
      status: quote(entity?.status ?? (hasOutput || error ? 'completed' : 'running')),
      isWithoutResult: entity?.status === 'completed' && !hasOutput && !error ? (true as const) : undefined,
      connector: output.connector ?? taskId,
      outputStatus: output.status === undefined ? undefined : quote(output.status),
      error: error && { code: quote(error.code), message: quote(error.message) },
      vcredits: entity?.vcredits,
      durationSeconds: output.duration,
    }),
    warnings: readWarnings(result?.warning, quote),
  };
}

function readWarnings(warning: Record<string, unknown> | null | undefined, quote: Quote): Record<string, string> {
  const entries = Object.entries(warning ?? {});
  const read = entries.slice(0, maxWarnings).map(([name, advice]) => [quote(name), quote(textOf(advice))]);
  return boundWarnings(Object.fromEntries(read) as Record<string, string>, {
    leftOutBefore: entries.length - read.length,
  });
}
