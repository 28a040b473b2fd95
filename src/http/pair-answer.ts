import type { ConversionApi } from './conversion-api';
import { ConversionApiError } from './errors';

/** Codes that mean "no such format". Services differ in which of them an endpoint answers. */
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

export function isUnknownFormat(error: unknown): error is ConversionApiError {
  return error instanceof ConversionApiError && unknownFormat.includes(error.code);
}

/** Whether the service converts a pair of formats, or which of them it does not know. @throws ConversionApiError */
export async function answerAboutPair(
  api: Pick<ConversionApi, 'canConvert'>,
  pair: Parameters<ConversionApi['canConvert']>[0],
): Promise<boolean | 'unknownInput' | 'unknownOutput'> {
  try {
    return await api.canConvert(pair);
  } catch (error) {
    if (!isUnknownFormat(error)) throw error;
    return unknownOutput.includes(error.code) ? 'unknownOutput' : 'unknownInput';
  }
}
