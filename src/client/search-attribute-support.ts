import type { Client } from '@temporalio/client';
import { searchAttributes } from '../shared/search-attributes';

/** Whether every search attribute of this library is registered in the client's namespace. Jobs run without them too, and are harder to find. */
export async function hasSearchAttributes(client: Client): Promise<boolean> {
  const { connection } = client;
  if (!('operatorService' in connection)) return false;
  try {
    const { namespace } = client.options;
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.values(searchAttributes).every(({ name }) => Object.hasOwn(customAttributes, name));
  } catch {
    // Some servers let nobody but an administrator ask; then the jobs do without.
    return false;
  }
}
