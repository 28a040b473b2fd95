import type { ConversionApi } from '../../api/conversion-api';
import { lookUpErrorCode } from '../../api/error-codes';
import { ConversionApiError } from '../../api/errors';
import { CommandError, usageError } from '../exit';
import type { Output } from '../output';

/** What a person asks of the service, checked with a few requests before any job is started. */
export interface ServiceCheck {
  app: string;
  baseUrl: string;
  output: string;
  /** Input formats: `--from`, or the extensions of the files. */
  inputs: readonly string[];
}

/**
 * Finds out whether the service is there, knows us, and converts each pair.
 * @returns the extension of the results.
 * @throws CommandError: 1 when the service or the account is at fault, 2 when the formats are.
 */
export async function checkService(api: ConversionApi, check: ServiceCheck, output: Output): Promise<string> {
  try {
    const { extension } = await api.format({ format: check.output });
    for (const input of new Set(check.inputs)) {
      if (!(await api.canConvert({ input, output: check.output }))) {
        throw usageError(
          `The service does not convert ${input} to ${check.output}. See what it converts ${input} to: fileconv formats ${input}`,
        );
      }
    }
    return extension != null && /^[a-z0-9]{1,16}$/i.test(extension) ? extension : formatExtension(check.output);
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    const explained = explain(error, check);
    if (explained) throw explained;
    // A busy service, or one without these endpoints: the jobs will find out for themselves.
    output.warn(`The formats could not be checked beforehand: ${error.message}`);
    return formatExtension(check.output);
  }
}

/** The message for a failed request of a command; undefined for a failure that says nothing about the jobs. */
function explain(error: ConversionApiError, check: ServiceCheck): CommandError | undefined {
  if (error.code === 'SERVICE_UNREACHABLE') {
    return new CommandError(
      `The conversion service of app ${check.app} can't be reached at ${check.baseUrl}. Start it (\`fileconv up\` runs the embedded one), or correct the app's base_url (\`fileconv config show\`).`,
      1,
      { cause: error },
    );
  }
  switch (lookUpErrorCode(error.code)?.class) {
    case 'account':
      return new CommandError(
        `${error.message} Check the App ID and the token of app ${check.app} (\`fileconv config show\`).`,
        1,
        { cause: error },
      );
    case 'input':
      return new CommandError(`${error.message} See the formats: fileconv formats`, 2, { cause: error });
    default:
      return undefined;
  }
}

function formatExtension(format: string): string {
  return format.split('-', 1)[0] ?? format;
}
