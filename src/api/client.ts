import type { z } from 'zod';
import { unreadable, type ReadAnswer } from './answer';
import { ServiceConnection } from './connection';
import {
  downloadUrlOutputSchema,
  endpoints,
  formatSchema,
  formatsOutputSchema,
  graphOutputSchema,
  monitorOutputSchema,
  uploadOutputSchema,
} from '../contract/endpoints';
import type { ConversionApi, ConversionApiOptions } from './conversion-api';
import { openDownload } from './download';
import { ConversionApiError } from './errors';
import { readSnapshot, readWarnings } from './snapshot';
import { sendFile } from './upload';
import { hasAny } from '../shared/warnings';

export type * from './conversion-api';

/** A client for one app profile, with its own pool of kept-alive connections. Close it when done. */
export function createConversionApi(options: ConversionApiOptions): ConversionApi {
  const connection = new ServiceConnection(options);
  const { quote } = connection;

  /** The task-specific output of an answer; each task has its own shape. */
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

    async convertFile({ connector, output, input, mode = 'async', callback, signal, turn }) {
      const endpoint = endpoints.convertFile;
      const answer = await connection.call(
        endpoint,
        {
          connector,
          include: ['entity', 'result'],
          mode,
          ...(callback !== undefined && { callback }),
          parameters: { output, ...(input !== undefined && { input }) },
        },
        { signal, turn, answersWhenDone: mode === 'sync' },
      );
      const snapshot = readSnapshot(answer, quote);
      if (snapshot.connector !== undefined) return snapshot;
      // Without a connector nobody can ask what became of the task.
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
