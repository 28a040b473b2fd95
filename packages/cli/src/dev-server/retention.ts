import type { Client } from '@temporalio/client';

/**
 * How long a namespace is to keep closed workflows. Their results and histories tell whether a conversion was charged, where no
 * ledger does.
 */
export const retentionDays = 30;
const daySeconds = 86_400;

type Namespace = Pick<Client, 'workflowService'> & { namespace: string };

/** Undefined where the server does not tell. */
export async function readRetentionDays({ workflowService, namespace }: Namespace): Promise<number | undefined> {
  const { config } = await workflowService.describeNamespace({ namespace });
  const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  return seconds > 0 ? seconds / daySeconds : undefined;
}

/** Lengthens the retention where it is shorter than `retentionDays`; says whether it was. Temporal decides who may. */
export async function lengthenRetention({ workflowService, namespace }: Namespace): Promise<boolean> {
  const days = (await readRetentionDays({ workflowService, namespace })) ?? retentionDays;
  if (days >= retentionDays) return false;
  const seconds = (retentionDays * daySeconds) as never;
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: { seconds } } });
  return true;
}
