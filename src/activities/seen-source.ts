import { hostname } from 'node:os';
import { Context } from '@temporalio/activity';
import { StorageError } from '../storage/errors';
import type { FileStore, SourceFile } from '../storage/file-store';
import type { ActivityAttempt } from './activity-attempt';
import { soonTaken } from './retry-pauses';

/** Details of the heartbeats of an upload whose source was not found. */
interface Looks {
  looks?: number;
  /** Hosts that have looked for the source. */
  missingOn?: string[];
}

const looksAtMost = 8;
/** Of `temporal.api.enums.v1.TaskQueueType`. */
const activityQueue = 2 as never;

/**
 * Opens the source of a job. A source missing on this host may exist on another whose worker polls the task queue: it
 * is missing once all hosts have looked, or after `looksAtMost` attempts; with one host, or shared files, at once.
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

/** Hosts of the workers on this task queue, by their identities; empty if there is one, which is this host. */
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
