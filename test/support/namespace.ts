import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

/** Registers a namespace for this test on the server of this run, without any search attribute. */
export async function newNamespace(client: Client): Promise<string> {
  const namespace = `test-${randomUUID()}`;
  const { workflowService } = client;
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  for (;;) {
    try {
      await workflowService.listWorkflowExecutions({ namespace });
      return namespace;
    } catch {
      await sleep(50);
    }
  }
}
