import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { CreditsWord } from '../../shared/job';
import { appReadySignal, conversionBatchType, conversionJobType, creditsRestoredSignal } from '../../shared/names';
import { searchAttributes } from '../../shared/search-attributes';
import { quoted } from './list-jobs';
import { presentSearchAttributes } from './search-attributes';

export interface Signalled {
  signalled: number;
  /** Number of workflows not signalled, for example because they had just ended. */
  failed: number;
  /** The visibility query that selected the workflows. */
  query: string;
}

/** Resumes every job of an app that is parked for vCredits; unlisted jobs that are not parked ignore it. */
export function restoreCredits(client: Client, { app }: { app: string }): Promise<Signalled> {
  return signalWaiting(client, restoredSignal(app));
}

/** The same for listed jobs alone, without waiting until all are told; how many there are. */
export async function restoreListedCredits(client: Client, { app }: { app: string }): Promise<number> {
  return (await startSignalling(client, { ...restoredSignal(app), isListed: true })).count;
}

function restoredSignal(app: string) {
  // One timestamp for all jobs: after one job is refused again, similar ones send no request.
  const word: CreditsWord = { saidAt: Date.now() };
  return {
    type: conversionJobType,
    app,
    status: 'awaitingCredits',
    signal: creditsRestoredSignal,
    input: [word],
    reason: `vCredits of app ${app} were restored`,
  };
}

/** Whether Temporal knows any job of the app; undefined without the search attribute. */
export async function hasJobs(client: Client, app: string): Promise<boolean | undefined> {
  const by = searchAttributes.app.name;
  if (!(await presentSearchAttributes(client)).has(by)) return undefined;
  const query = `WorkflowType = '${conversionJobType}' AND (${by} = ${quoted(app)} OR (${by} IS NULL AND ExecutionStatus = 'Running'))`;
  return (await client.workflow.count(query)).count > 0;
}

/**
 * Tells every running batch of an app that its account is accepted. Those that need nothing ignore it: also a batch that is
 * not listed as waiting may have jobs that are just being refused.
 */
export function appReady(client: Client, { app }: { app: string }): Promise<Signalled> {
  return signalWaiting(client, {
    type: conversionBatchType,
    app,
    signal: appReadySignal,
    reason: `the service accepts app ${app} again`,
  });
}

/** Of `temporal.api.enums.v1.BatchOperationState`: unspecified and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;

interface WaitingSignal {
  type: string;
  app: string;
  /** Default: any. */
  status?: string;
  /** Only workflows that are surely of this app, which the namespace needs the search attribute for. Default: false. */
  isListed?: boolean;
  signal: string;
  input?: unknown[];
  reason: string;
}

/**
 * Signals every running workflow of a type that is listed by an app, and a status, by one batch operation of the server.
 * Also those without search attributes, such as children of a user's workflow: the signal must not matter to others.
 */
async function signalWaiting(client: Client, waiting: WaitingSignal): Promise<Signalled> {
  const { namespace } = client.options;
  const { query, jobId } = await startSignalling(client, waiting);
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

/** The same without waiting until the server has told them all; `jobId` is absent when there are none. */
async function startSignalling(
  client: Client,
  { type, app, status, isListed = false, signal, input = [], reason }: WaitingSignal,
): Promise<{ query: string; count: number; jobId?: string }> {
  const { namespace, identity } = client.options;
  const present = await presentSearchAttributes(client);
  const listed = [
    { by: searchAttributes.app.name, value: app },
    ...(status === undefined ? [] : [{ by: searchAttributes.status.name, value: status }]),
  ];
  const query = [
    `WorkflowType = '${type}'`,
    `ExecutionStatus = 'Running'`,
    ...(isListed ? [`${searchAttributes.app.name} = ${quoted(app)}`] : []),
    ...listed.filter(({ by }) => present.has(by)).map(({ by, value }) => `(${by} = ${quoted(value)} OR ${by} IS NULL)`),
  ].join(' AND ');
  const { count } = await client.workflow.count(query);
  if (count === 0) return { query, count };
  const jobId = randomUUID();
  // Not encrypted: unlisted workflows may have other keys, and one that can't decode a signal is stuck.
  const payloads = input.map((each) => defaultPayloadConverter.toPayload(each));
  await client.workflowService.startBatchOperation({
    namespace,
    jobId,
    visibilityQuery: query,
    reason,
    signalOperation: { signal, identity, input: { payloads } },
  });
  return { query, count, jobId };
}
