import type { Client } from '@temporalio/client';
import { searchAttributes } from '../shared/search-attributes';

const names = Object.values(searchAttributes).map(({ name }) => name);

/**
 * Whether every search attribute of this library is registered in the client's namespace, and the server takes them already: it may know
 * new ones only a minute later. Jobs run without them too, and are harder to find.
 */
export async function hasSearchAttributes(client: Client): Promise<boolean> {
  const areNull = names.map((name) => `${name} IS NULL`).join(' AND ');
  try {
    // Refused when it names an attribute that is not registered. To have them listed is a right of administrators on some servers.
    await client.workflow.count(`WorkflowId = 'search-attribute-support' AND ${areNull}`);
    return true;
  } catch {
    return false;
  }
}
