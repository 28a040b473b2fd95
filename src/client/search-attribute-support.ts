import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributeNames } from '../shared/search-attributes';

/** gRPC's INVALID_ARGUMENT, and the UNIMPLEMENTED of servers without any listing, such as the one that skips time in tests. */
const saysNo: readonly number[] = [3, 12];
const timeoutMs = 10_000;

/**
 * Which search attributes of this library are registered in the client's namespace, and the server takes already: it may know new ones only a
 * minute later. Jobs run without them too, and are harder to find.
 *
 * Rejects when the server does not tell: that says nothing about the namespace.
 */
export async function presentSearchAttributes(client: Client): Promise<ReadonlySet<string>> {
  if (await isTaken(client, searchAttributeNames)) return new Set(searchAttributeNames);
  const taken = await Promise.all(searchAttributeNames.map((name) => isTaken(client, [name])));
  return new Set(searchAttributeNames.filter((_, index) => taken[index]));
}

/** A query is refused when it names an attribute that is not registered. To have them listed is a right of administrators on some servers. */
async function isTaken(client: Client, names: readonly string[]): Promise<boolean> {
  const areNull = names.map((name) => `${name} IS NULL`).join(' AND ');
  try {
    await client.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.count(`WorkflowId = 'search-attribute-support' AND ${areNull}`),
    );
    return true;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    if (isGrpcServiceError(cause) && saysNo.includes(cause.code)) return false;
    throw error;
  }
}
