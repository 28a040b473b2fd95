import type { ConversionApi } from '../../api/conversion-api';
import { ConversionApiError } from '../../api/errors';
import type { FormatLookup } from './format-lookup';
import { extensionFromName } from './format-lookup';

/** Answers that mean: there is no such format. Which of them an endpoint gives differs from service to service. */
const unknownFormat = [
  'INVALID_FORMAT',
  'WRONG_FORMAT_STRUCTURE',
  'INVALID_INPUT_FORMAT',
  'INVALID_OUTPUT_FORMAT',
  'WRONG_INPUT_FORMAT_STRUCTURE',
  'WRONG_OUTPUT_FORMAT_STRUCTURE',
  'INVALID_PARAMETER',
  'WRONG_VALUE_PARAMETER',
];

/**
 * What a service says it converts. Every method asks it anew.
 * @throws ConversionApiError
 */
export function serviceFormats(api: ConversionApi): FormatLookup {
  return {
    async target(format) {
      const found = await unlessUnknown(api.format({ format }));
      if (!found) return undefined;
      const { extension } = found;
      const isUsable = extension != null && /^[a-z0-9]{1,16}$/i.test(extension);
      return { extension: isUsable ? extension : extensionFromName(format) };
    },
    async problemOf({ extension, from, to }) {
      const converts = await unlessUnknown(api.canConvert({ input: from ?? extension, output: to }));
      if (converts === undefined) return { kind: 'unknownInput' };
      return converts ? undefined : { kind: 'noConverter' };
    },
    inputs: () => api.formats({ sublist: 'inputs' }),
    targets: (format) => unlessUnknown(api.formats({ sublist: 'outputs', format })),
  };
}

async function unlessUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ConversionApiError && unknownFormat.includes(error.code)) return undefined;
    throw error;
  }
}
