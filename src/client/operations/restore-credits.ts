import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { CreditsWord } from '../../shared/job';
import { conversionJobType, creditsRestoredSignal } from '../../shared/names';
import { searchAttributes } from '../../shared/search-attributes';
import { quoted } from './job-query';
import { presentSearchAttributes } from './search-attributes';

interface RestoredCredits {
  signalled: number;
  /** Number of jobs not signalled, for example because they had just ended. */
  failed: number;
  /** The visibility query that selected the jobs. */
  query: string;
}

/** Of `temporal.api.enums.v1.BatchOperationState`: unspecified and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;

/**
 * Resumes every job of an app that is parked for vCredits, by one batch operation of the server. Also signals running
 * jobs without search attributes, such as children of a user's workflow; those that are not parked ignore it.
 */
export async function restoreCredits(client: Client, { app }: { app: string }): Promise<RestoredCredits> {
  const { namespace, identity } = client.options;
  const query = [
    `WorkflowType = '${conversionJobType}'`,
    `ExecutionStatus = 'Running'`,
    ...parkedJobs(app, await presentSearchAttributes(client)),
  ].join(' AND ');
  if ((await client.workflow.count(query)).count === 0) return { signalled: 0, failed: 0, query };
  const jobId = randomUUID();
  // One timestamp for all jobs: after one job is refused again, similar ones send no request.
  const word: CreditsWord = { saidAt: Date.now() };
  // Not encrypted: unlisted jobs may have other keys, and a job that can't decode a signal is stuck.
  const payload = defaultPayloadConverter.toPayload(word);
  await client.workflowService.startBatchOperation({
    namespace,
    jobId,
    visibilityQuery: query,
    reason: `vCredits of app ${app} were restored`,
    signalOperation: { signal: creditsRestoredSignal, identity, input: { payloads: [payload] } },
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

function parkedJobs(app: string, present: ReadonlySet<string>): string[] {
  const conditions = [
    { by: searchAttributes.app.name, value: app },
    { by: searchAttributes.status.name, value: 'awaitingCredits' },
  ];
  return conditions
    .filter(({ by }) => present.has(by))
    .map(({ by, value }) => `(${by} = ${quoted(value)} OR ${by} IS NULL)`);
}
