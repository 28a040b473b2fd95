import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { AppReady } from '../../shared/job';
import { appReadySignal, conversionJobType } from '../../shared/names';
import { searchAttributes, type ListedStatus } from '../../shared/search-attributes';
import { quoted } from './list-jobs';
import { presentSearchAttributes } from './search-attributes';

export interface Signalled {
  signalled: number;
  /** Number of workflows not signalled, for example because they had just ended. */
  failed: number;
  /** The visibility query that selected the workflows. */
  query: string;
}

/**
 * Tells every running job that is listed as parked and of the app to try again, by one batch operation of the server; also jobs
 * without search attributes, such as children of a user's workflow: one that is not parked ignores it.
 */
export async function tellReady(client: Client, { app }: { app: string }): Promise<Signalled> {
  const { namespace, identity } = client.options;
  const present = await presentSearchAttributes(client);
  const listed = [
    { by: searchAttributes.app.name, value: app },
    { by: searchAttributes.status.name, value: 'parked' satisfies ListedStatus },
  ];
  const query = [
    `WorkflowType = '${conversionJobType}'`,
    `ExecutionStatus = 'Running'`,
    ...listed.filter(({ by }) => present.has(by)).map(({ by, value }) => `(${by} = ${quoted(value)} OR ${by} IS NULL)`),
  ].join(' AND ');
  if ((await client.workflow.count(query)).count === 0) return { signalled: 0, failed: 0, query };
  const jobId = randomUUID();
  // One timestamp for all jobs: after one job is refused again, the others send no request.
  const word: AppReady = { saidAt: Date.now() };
  // Not encrypted: unlisted workflows may have other keys, and one that can't decode a signal is stuck.
  const payloads = [defaultPayloadConverter.toPayload(word)];
  await client.workflowService.startBatchOperation({
    namespace,
    jobId,
    visibilityQuery: query,
    reason: `app ${app} is ready again`,
    signalOperation: { signal: appReadySignal, identity, input: { payloads } },
  });
  for (;;) {
    const { state, completeOperationCount, failureOperationCount } =
      await client.workflowService.describeBatchOperation({ namespace, jobId });
    if (!unfinished.includes(state)) {
      return { signalled: Number(completeOperationCount), failed: Number(failureOperationCount), query };
    }
    await sleep(checkIntervalMs);
  }
}

/** Whether Temporal knows any job of the app; undefined without the search attribute. */
export async function hasJobs(client: Client, app: string): Promise<boolean | undefined> {
  const by = searchAttributes.app.name;
  if (!(await presentSearchAttributes(client)).has(by)) return undefined;
  const query = `WorkflowType = '${conversionJobType}' AND (${by} = ${quoted(app)} OR (${by} IS NULL AND ExecutionStatus = 'Running'))`;
  return (await client.workflow.count(query)).count > 0;
}

/** Of `temporal.api.enums.v1.BatchOperationState`: unspecified and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;
