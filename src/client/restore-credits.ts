import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { CreditsWord } from '../shared/job';
import { conversionJobType, creditsRestoredSignal } from '../shared/names';
import { searchAttributes } from '../shared/search-attributes';
import { quoted } from './job-query';
import { presentSearchAttributes } from './search-attribute-support';

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
 * are. Running jobs that are not listed, such as children of a workflow of somebody's own, are told too: those that are not parked ignore it.
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
  // One word for all of them: once it has proved wrong for one, the others of its kind spend no request on it.
  const word: CreditsWord = { saidAt: Date.now() };
  // Not encrypted: jobs that are not listed may be anybody's, and one that can't read the word could not go on at all.
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

/** Whether Temporal knows of any job of the app; undefined where it lists none by their app. */
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
