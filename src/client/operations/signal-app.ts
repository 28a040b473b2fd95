import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { AppReady } from '../../job/types';
import { appReadySignal, conversionJobType } from '../../job/names';
import { quoted, searchAttributes, type ListedStatus } from '../../job/search-attributes';
import { SearchAttributesMissingError } from './list-jobs';
import { hasSearchAttributes } from './search-attributes';

export interface Signalled {
  signalled: number;
  /** Number of workflows not signalled, for example because they had just ended. */
  failed: number;
  /** The visibility query that selected the workflows. */
  query: string;
}

/** Tells every parked job of an app to try again; unlisted jobs that are not parked ignore it. */
export async function signalAppReady(client: Client, { app }: { app: string }): Promise<Signalled> {
  const { namespace } = client.options;
  const { query, jobId } = await startSignalling(client, { app });
  if (jobId === undefined) return { signalled: 0, failed: 0, query };
  for (;;) {
    const { state, completeOperationCount, failureOperationCount } =
      await client.workflowService.describeBatchOperation({ namespace, jobId });
    if (!unfinished.includes(state)) {
      return { signalled: Number(completeOperationCount), failed: Number(failureOperationCount), query };
    }
    await sleep(checkIntervalMs);
  }
}

/** Like `signalAppReady`, for listed jobs only and without waiting for delivery. @returns their number. @throws SearchAttributesMissingError */
export async function signalListedJobs(client: Client, { app }: { app: string }): Promise<number> {
  return (await startSignalling(client, { app, isListed: true })).count;
}

/** Whether Temporal knows any job of the app; undefined without the search attributes. */
export async function hasJobs(client: Client, app: string): Promise<boolean | undefined> {
  const by = searchAttributes.app.name;
  if (!(await hasSearchAttributes(client))) return undefined;
  const query = `WorkflowType = '${conversionJobType}' AND (${by} = ${quoted(app)} OR (${by} IS NULL AND ExecutionStatus = 'Running'))`;
  return (await client.workflow.count(query)).count > 0;
}

/** Values of `temporal.api.enums.v1.BatchOperationState`: unspecified and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;

/**
 * Signals every running job of the app that is listed as parked, by one batch operation of the server. Unless `isListed`, which needs
 * the search attributes, also signals jobs without them, such as children of a user's workflow.
 */
async function startSignalling(
  client: Client,
  { app, isListed = false }: { app: string; isListed?: boolean },
): Promise<{ query: string; count: number; jobId?: string }> {
  const { namespace, identity } = client.options;
  const canList = await hasSearchAttributes(client);
  if (isListed && !canList) throw new SearchAttributesMissingError(['app']);
  const listed = [
    { by: searchAttributes.app.name, value: app },
    { by: searchAttributes.status.name, value: 'parked' satisfies ListedStatus },
  ];
  const query = [
    `WorkflowType = '${conversionJobType}'`,
    `ExecutionStatus = 'Running'`,
    ...(isListed ? [`${searchAttributes.app.name} = ${quoted(app)}`] : []),
    ...(canList ? listed : []).map(({ by, value }) => `(${by} = ${quoted(value)} OR ${by} IS NULL)`),
  ].join(' AND ');
  const { count } = await client.workflow.count(query);
  if (count === 0) return { query, count };
  const jobId = randomUUID();
  // One timestamp for all jobs: after one of them is refused again, the others send no request.
  const word: AppReady = { sentAt: Date.now() };
  // Not encrypted: unlisted workflows may have other keys, and a workflow that can't decode a signal gets stuck.
  const payloads = [defaultPayloadConverter.toPayload(word)];
  await client.workflowService.startBatchOperation({
    namespace,
    jobId,
    visibilityQuery: query,
    reason: `app ${app} is ready again`,
    signalOperation: { signal: appReadySignal, identity, input: { payloads } },
  });
  return { query, count, jobId };
}
