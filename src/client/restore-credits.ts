import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { conversionJobType, creditsRestoredSignal } from '../shared/names';
import { searchAttributes } from '../shared/search-attributes';
import { hasSearchAttributes } from './search-attribute-support';
import { quoted } from './visibility-query';

export interface RestoredCredits {
  /** Jobs that were told. */
  signalled: number;
  /** Jobs that could not be told, for example because they ended meanwhile. */
  failed: number;
  /** What the server selected them by. */
  query: string;
}

/** Of `temporal.api.enums.v1.BatchOperationState`: not known yet, and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;

/**
 * Lets every job of an app that is parked for vCredits go on at once: one operation that the Temporal server runs, however many jobs there
 * are. Where the search attributes are not registered every running job is told; those that are not parked ignore it.
 */
export async function restoreCredits(client: Client, { app }: { app: string }): Promise<RestoredCredits> {
  const { namespace, identity } = client.options;
  const selected = (await hasSearchAttributes(client))
    ? ` AND ${searchAttributes.app.name} = ${quoted(app)} AND ${searchAttributes.status.name} = 'awaitingCredits'`
    : '';
  const query = `WorkflowType = '${conversionJobType}' AND ExecutionStatus = 'Running'${selected}`;
  if ((await client.workflow.count(query)).count === 0) return { signalled: 0, failed: 0, query };
  const jobId = randomUUID();
  await client.workflowService.startBatchOperation({
    namespace,
    jobId,
    visibilityQuery: query,
    reason: `vCredits of app ${app} were restored`,
    signalOperation: { signal: creditsRestoredSignal, identity },
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
