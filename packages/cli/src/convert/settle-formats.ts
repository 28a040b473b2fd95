import { extensionFromName } from '../formats/format-lookup';
import { withFormats } from '../formats/with-formats';
import type { CommandContext } from '../command-context';
import type { WantedFormats } from './formats-check';
import { checkFormats } from './formats-check';

/** The extension of the results, once it is clear that every file converts, as far as that can be known. */
export async function settleFormats(
  context: CommandContext,
  app: string,
  { signal, ...wanted }: WantedFormats & { signal?: AbortSignal },
): Promise<string> {
  const extension = await withFormats(context, app, (lookup) => checkFormats(lookup, wanted), {
    ...(signal && { signal }),
  });
  return extension ?? extensionFromName(wanted.to);
}
