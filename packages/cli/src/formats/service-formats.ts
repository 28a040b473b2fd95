import type { ConversionApi } from 'temporal-file-conversion/internal/api/conversion-api';
import { ConversionApiError } from 'temporal-file-conversion/internal/api/errors';
import type { FormatLookup } from './format-lookup';
import { extensionFromName } from './format-lookup';

/** Answers that mean: there is no such format. Which of them an endpoint gives differs from service to service. */
const unknownOutput = ['INVALID_OUTPUT_FORMAT', 'WRONG_OUTPUT_FORMAT_STRUCTURE'];
const unknownFormat = [
  'INVALID_FORMAT',
  'WRONG_FORMAT_STRUCTURE',
  'INVALID_INPUT_FORMAT',
  'WRONG_INPUT_FORMAT_STRUCTURE',
  ...unknownOutput,
  'INVALID_PARAMETER',
  'WRONG_VALUE_PARAMETER',
];

/**
 * What a service says it converts. Every method asks it anew.
 * @param signal ends a question under way.
 * @throws ConversionApiError
 */
export function serviceFormats(api: ConversionApi, signal?: AbortSignal): FormatLookup {
  return {
    async target(format) {
      const found = await unlessUnknown(api.format({ format, signal }));
      if (!found) return undefined;
      const { extension } = found;
      const isUsable = extension != null && /^[a-z0-9]{1,16}$/i.test(extension);
      return { extension: isUsable ? extension : extensionFromName(format) };
    },
    async problemOf({ extension, from, to }) {
      try {
        const converts = await api.canConvert({ input: from ?? extension, output: to, signal });
        return converts ? undefined : { kind: 'noConverter' };
      } catch (error) {
        if (!isUnknownFormat(error)) throw error;
        return { kind: unknownOutput.includes(error.code) ? 'unknownOutput' : 'unknownInput' };
      }
    },
    inputs: () => api.formats({ sublist: 'inputs', signal }),
    targets: (format) => unlessUnknown(api.formats({ sublist: 'outputs', format, signal })),
  };
}

async function unlessUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isUnknownFormat(error)) return undefined;
    throw error;
  }
}

function isUnknownFormat(error: unknown): error is ConversionApiError {
  return error instanceof ConversionApiError && unknownFormat.includes(error.code);
}
