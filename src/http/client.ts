import type { z } from 'zod';
import {
  convertOutputSchema,
  downloadUrlOutputSchema,
  endpoints,
  formatSchema,
  formatsOutputSchema,
  graphOutputSchema,
  monitorOutputSchema,
  uploadOutputSchema,
  type Entity,
  type TaskResult,
} from '../contract/endpoints';
import { boundWarnings, maxWarnings, hasAny } from '../shared/warnings';
import { unreadable, type ReadAnswer } from './answer';
import { ServiceConnection } from './connection';
import type { TaskSnapshot, ConversionApi, ConversionApiOptions } from './conversion-api';
import { readErrorObject } from './document-error';
import { openDownload } from './download';
import { ConversionApiError } from './errors';
import type { Quote } from './quote';
import { sendFile } from './upload';

export type * from './conversion-api';

/** A client for one app profile, with its own pool of keep-alive connections. Call `close` when done. */
export function createConversionApi(options: ConversionApiOptions): ConversionApi {
  const connection = new ServiceConnection(options);
  const { quote } = connection;

  /** The task-specific output of a response; each task has its own shape. */
  function readOutput<Output>(answer: ReadAnswer, schema: z.ZodType<Output>): Output {
    const parsed = schema.safeParse(answer.result?.output);
    if (parsed.success) return parsed.data;
    throw unreadable(answer.raw, quote, parsed.error);
  }

  return {
    async uploadFile(upload) {
      const endpoint = endpoints.uploadFile;
      const answer = await connection.readTaskResponse(endpoint, await sendFile(connection, upload));
      const { connector, name, size, expires_at } = readOutput(answer, uploadOutputSchema);
      return {
        connector,
        ...(name !== undefined && { name }),
        ...(size !== undefined && { size }),
        ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
        warnings: readWarnings(answer.result?.warning, quote),
      };
    },

    async convertFile({ connector, output, input, parameters, mode = 'async', callback, signal, turn }) {
      const endpoint = endpoints.convertFile;
      const answer = await connection.call(
        endpoint,
        {
          connector,
          include: ['entity', 'result'],
          mode,
          ...(callback !== undefined && { callback }),
          parameters: { ...parameters, output, ...(input !== undefined && { input }) },
        },
        { signal, turn, answersWhenDone: mode === 'sync' },
      );
      const snapshot = readSnapshot(answer, quote);
      if (snapshot.connector !== undefined) return snapshot;
      // A task without a connector cannot be polled.
      throw unreadable(answer.raw, quote);
    },

    async taskResponse({ connector, signal, turn }) {
      const endpoint = endpoints.taskResponse;
      const answer = await connection.call(
        endpoint,
        { connector, parameters: { include: ['entity', 'result'] } },
        { signal, turn },
      );
      const monitored = readOutput(answer, monitorOutputSchema);
      if (monitored.entity || monitored.result) return readSnapshot(monitored, quote);
      throw unreadable(answer.raw, quote);
    },

    async downloadUrl({ connector, signal, turn }) {
      const endpoint = endpoints.downloadUrl;
      const answer = await connection.call(endpoint, { connector }, { signal, turn });
      const { name, size, expires_at, url, ...output } = readOutput(answer, downloadUrlOutputSchema);
      const warnings = readWarnings(answer.result?.warning, quote);
      return {
        connector: output.connector,
        ...(name !== undefined && { name }),
        ...(size !== undefined && { size }),
        ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
        ...(url !== undefined && { url }),
        ...(hasAny(warnings) && { warnings }),
      };
    },

    download: ({ ticket, ...options }) => openDownload(connection, ticket, options),

    async formats({ sublist, format, signal }) {
      const endpoint = endpoints.convertFormats;
      const parameters = { sublist, ...(format !== undefined && { format }) };
      const answer = await connection.call(endpoint, { parameters }, { signal });
      const { formats } = readOutput(answer, formatsOutputSchema);
      return formats.map((each) => (typeof each === 'string' ? { format: each } : each));
    },

    async format({ format, signal }) {
      const endpoint = endpoints.formatGet;
      return readOutput(await connection.call(endpoint, { parameters: { format } }, { signal }), formatSchema);
    },

    async canConvert({ input, output, signal }) {
      const endpoint = endpoints.convertGraph;
      try {
        const answer = await connection.call(endpoint, { parameters: { input, output } }, { signal });
        return readOutput(answer, graphOutputSchema).is_match !== false;
      } catch (error) {
        if (error instanceof ConversionApiError && error.code === 'NO_CONVERTER_INPUT_TO_OUTPUT') return false;
        throw error;
      }
    },

    close: () => connection.close(),
  };
}

/** The parts of a task response that make a snapshot; either may be missing. */
interface TaskParts {
  readonly entity?: Entity | null | undefined;
  readonly result?: TaskResult | null | undefined;
}

/** The state of a conversion task (sections "Entity keys" and "Output of the convert-file task"). */
function readSnapshot({ entity, result }: TaskParts, quote: Quote): TaskSnapshot {
  const parsed = convertOutputSchema.safeParse(result?.output ?? {});
  const output = parsed.success ? parsed.data : {};
  const error = readErrorObject(result?.error);
  // The result is empty while a task runs, so an output or an error means that it is over.
  const hasOutput = Object.keys(result?.output ?? {}).length > 0;
  // Section "Entity keys": the id of a task that produces a connector equals that connector.
  const taskId = entity?.id === '' ? undefined : entity?.id;
  const connector = output.connector ?? taskId;
  return {
    ...(taskId !== undefined && { taskId }),
    status: entity?.status ?? (hasOutput || error ? 'completed' : 'running'),
    ...(entity?.status === 'completed' && !hasOutput && !error && { isWithoutResult: true }),
    ...(connector !== undefined && { connector }),
    ...(output.status !== undefined && { outputStatus: output.status }),
    ...(error && { error: { code: quote(error.code), message: quote(error.message) } }),
    warnings: readWarnings(result?.warning, quote),
    ...(entity?.vcredits !== undefined && { vcredits: entity.vcredits }),
    ...(output.duration !== undefined && { durationSeconds: output.duration }),
  };
}

function readWarnings(warning: Record<string, unknown> | null | undefined, quote: Quote): Record<string, string> {
  const entries = Object.entries(warning ?? {});
  const read = entries
    .slice(0, maxWarnings)
    .map(([name, advice]) => [quote(name), quote(typeof advice === 'string' ? advice : JSON.stringify(advice))]);
  return boundWarnings(Object.fromEntries(read) as Record<string, string>, entries.length - read.length);
}
