import type { Client } from '@temporalio/client';

/**
 * How long a namespace must keep closed workflows: where there is no ledger, only their results and histories tell whether a
 * conversion was charged.
 */
export const retentionDays = 30;
const daySeconds = 86_400;

type Namespace = Pick<Client, 'workflowService'> & { namespace: string };

/** Undefined if the server does not say. */
export async function readRetentionDays({ workflowService, namespace }: Namespace): Promise<number | undefined> {
  const { config } = await workflowService.describeNamespace({ namespace });
  const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  return seconds > 0 ? seconds / daySeconds : undefined;
}

/** Extends a retention shorter than `retentionDays`; returns whether it did. Temporal checks the permission. */
export async function lengthenRetention({ workflowService, namespace }: Namespace): Promise<boolean> {
  const days = (await readRetentionDays({ workflowService, namespace })) ?? retentionDays;
  if (days >= retentionDays) return false;
  const seconds = (retentionDays * daySeconds) as never;
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: { seconds } } });
  return true;
}
