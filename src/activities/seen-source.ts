import { hostname } from 'node:os';
import { Context } from '@temporalio/activity';
import { StorageError } from '../storage/errors';
import type { FileStore, SourceFile } from '../storage/file-store';
import type { ActivityAttempt } from './activity-attempt';
import { soonTaken } from './retry-pauses';

/** Details of the heartbeats of an upload whose source was not found. */
interface Looks {
  looks?: number;
  /** Machines that have looked. */
  missingOn?: string[];
}

const looksAtMost = 8;
/** Of `temporal.api.enums.v1.TaskQueueType`. */
const activityQueue = 2 as never;

/**
 * Opens the source of a job. One that is not there on this machine may be on another whose worker polls the task queue: it is
 * missing when all have looked, or none did for some seconds. Where there is one machine, or all see the same files, that is at once.
 */
export async function openSource(
  files: FileStore,
  uri: string,
  { heartbeat, previousDetails, failure }: Pick<ActivityAttempt, 'heartbeat' | 'previousDetails' | 'failure'>,
): Promise<SourceFile> {
  try {
    return await files.openSource(uri);
  } catch (error) {
    if (!files.sharing || !(error instanceof StorageError) || error.code !== 'SOURCE_NOT_FOUND') throw error;
    const { looks = 0, missingOn = [] } = (previousDetails ?? {}) as Looks;
    const looked = [...new Set([...missingOn, hostname()])];
    const others = (await pollingHosts()).filter((host) => !looked.includes(host));
    const isFinal = others.length === 0 || looks + 1 >= looksAtMost;
    if (isFinal && looked.length === 1 && others.length === 0) throw error;
    if (!isFinal) {
      heartbeat.add({ looks: looks + 1, missingOn: looked } satisfies Looks);
      failure.pauses = soonTaken(failure.pauses);
    }
    const elsewhere = others.length === 0 ? '' : ` Workers on ${others.join(', ')} have not looked.`;
    throw new StorageError({
      code: error.code,
      message: `${error.message} Workers on ${looked.join(', ')} have looked.${elsewhere}`,
      uri,
      retryable: !isFinal,
      cause: error,
    });
  }
}

/**
 * Of the workers that poll this task queue, as far as the server knows, by the end of their identities. One alone is this one,
 * whatever it is called.
 */
async function pollingHosts(): Promise<string[]> {
  const { client, info } = Context.current();
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: info.namespace,
    taskQueue: { name: info.taskQueue },
    taskQueueType: activityQueue,
  });
  const hosts = new Set(pollers.map(({ identity }) => (identity ?? '').replace(/^.*@/, '')));
  return hosts.size > 1 ? [...hosts] : [];
}
