import type { Client } from '@temporalio/client';
import { searchAttributes } from '../shared/search-attributes';

const names = Object.values(searchAttributes).map(({ name }) => name);

/**
 * Whether every search attribute of this library is registered in the client's namespace, and the server takes them already: it may know
 * new ones only a minute later. Jobs run without them too, and are harder to find.
 */
export async function hasSearchAttributes(client: Client): Promise<boolean> {
  const { connection } = client;
  if (!('operatorService' in connection)) return acceptsInQueries(client);
  try {
    const { namespace } = client.options;
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    if (!names.every((name) => Object.hasOwn(customAttributes, name))) return false;
  } catch {
    // Some servers, Temporal Cloud among them, let nobody but an administrator ask.
  }
  return acceptsInQueries(client);
}

/** A query that names an attribute which is not registered is refused. */
export async function acceptsInQueries(client: Client): Promise<boolean> {
  const areNull = names.map((name) => `${name} IS NULL`).join(' AND ');
  try {
    await client.workflow.count(`WorkflowId = 'search-attribute-support' AND ${areNull}`);
    return true;
  } catch {
    return false;
  }
}
