import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributeNames } from '../shared/search-attributes';

/** gRPC INVALID_ARGUMENT, and UNIMPLEMENTED of servers without visibility, such as the time-skipping test server. */
const saysNo: readonly number[] = [3, 12];
const timeoutMs = 10_000;

/**
 * The search attributes of this library that the client's namespace accepts, which takes up to a minute after their
 * registration. Jobs also run without them, but are harder to find. Rejects when the server does not tell.
 */
export async function presentSearchAttributes(client: Client): Promise<ReadonlySet<string>> {
  if (await isTaken(client, searchAttributeNames)) return new Set(searchAttributeNames);
  const taken = await Promise.all(searchAttributeNames.map((name) => isTaken(client, [name])));
  return new Set(searchAttributeNames.filter((_, index) => taken[index]));
}

/** The server rejects a query with an unregistered attribute. Listing attributes may need administrator rights. */
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
