import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { searchAttributes } from '../../shared/search-attributes';
import { quoted } from './job-query';
import { presentSearchAttributes } from './search-attributes';

export interface Signalled {
  signalled: number;
  /** Number of workflows not signalled, for example because they had just ended. */
  failed: number;
  /** The visibility query that selected the workflows. */
  query: string;
}

/** Of `temporal.api.enums.v1.BatchOperationState`: unspecified and running. */
const unfinished = [0, 1];
const checkIntervalMs = 200;

interface Selection {
  type: string;
  app: string;
  status: string;
  /** Only workflows that are surely of this app, which the namespace needs the search attribute for. Default: false. */
  isListed?: boolean;
}

interface WaitingSignal extends Selection {
  signal: string;
  input?: unknown[];
  reason: string;
}

/** The running workflows of a type that are listed by an app and a status, or that lack a listing. */
async function waitingQuery(client: Client, selection: Selection): Promise<string> {
  const present = await presentSearchAttributes(client);
  const listed = [
    { by: searchAttributes.app.name, value: selection.app },
    { by: searchAttributes.status.name, value: selection.status },
  ];
  return [
    `WorkflowType = '${selection.type}'`,
    `ExecutionStatus = 'Running'`,
    ...(selection.isListed ? [`${searchAttributes.app.name} = ${quoted(selection.app)}`] : []),
    ...listed.filter(({ by }) => present.has(by)).map(({ by, value }) => `(${by} = ${quoted(value)} OR ${by} IS NULL)`),
  ].join(' AND ');
}

/**
 * Signals every running workflow of a type that is listed by an app and a status, by one batch operation of the server.
 * Also those without search attributes, such as children of a user's workflow: the signal must not matter to others.
 */
export async function signalWaiting(client: Client, waiting: WaitingSignal): Promise<Signalled> {
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
export async function startSignalling(
  client: Client,
  { signal, input = [], reason, ...selection }: WaitingSignal,
): Promise<{ query: string; count: number; jobId?: string }> {
  const { namespace, identity } = client.options;
  const query = await waitingQuery(client, selection);
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
