import { SearchAttributesMissingError } from 'temporal-file-conversion/internal/client/job-query';
import type { ListedStatus } from 'temporal-file-conversion/internal/shared/search-attributes';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import type { OpenTemporal } from '../../stack/open-temporal';
import { withTemporal } from '../../stack/open-temporal';

/** Which jobs, as it is typed. */
export interface FilterFlags {
  status?: ListedStatus;
  app?: string;
  code?: string;
  batch?: string;
  since?: Date;
}

/** Asks Temporal for jobs that fit, and says what to type where it lacks what they are found by. */
export async function withFilter(
  context: CommandContext,
  ask: (temporal: OpenTemporal) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withTemporal(context, async (temporal) => {
    try {
      return await ask(temporal);
    } catch (error) {
      if (!(error instanceof SearchAttributesMissingError)) throw error;
      throw new CommandError(
        'STATE_UNUSABLE',
        [
          `Namespace ${temporal.namespace} has no search attributes to list jobs by ${error.filters.join(' and ')}. Register them: fileconv namespace init. Without them --status running, completed, failed and cancelled, --batch and --since work.`,
        ],
        { cause: error },
      );
    }
  });
}
