import type { Client } from '@temporalio/client';
import { hasStatus, operatorOf, refusalOf } from '../grpc';

export interface EndpointTarget {
  namespace: string;
  taskQueue: string;
}

/** `refused`: the client may not make endpoints; `taken`: the name leads elsewhere; `invalid`: name or target is wrong. */
type EndpointProblem = 'refused' | 'taken' | 'invalid';

export class NexusEndpointError extends Error {
  override readonly name = 'NexusEndpointError';

  constructor(
    message: string,
    readonly problem: EndpointProblem,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Makes a Nexus endpoint unless there is one that leads to the same target: false then.
 * @throws NexusEndpointError
 */
export async function ensureNexusEndpoint(client: Client, name: string, target: EndpointTarget): Promise<boolean> {
  const operatorService = operatorOf(client);
  try {
    const found = (await operatorService.listNexusEndpoints({ name })).endpoints[0]?.spec?.target?.worker;
    if (found) {
      if (found.namespace === target.namespace && found.taskQueue === target.taskQueue) return false;
      const elsewhere = `task queue ${found.taskQueue ?? ''} of namespace ${found.namespace ?? ''}`;
      throw new NexusEndpointError(`Endpoint ${name} leads to ${elsewhere}.`, 'taken');
    }
    await operatorService.createNexusEndpoint({ spec: { name, target: { worker: target } } });
    return true;
  } catch (error) {
    const refusal = refusalOf(error);
    const problem = problemOf(error);
    if (!refusal || !problem) throw error;
    const message = `Temporal does not make the endpoint ${name}: ${refusal.reason}.`;
    throw new NexusEndpointError(message, problem, { cause: error });
  }
}

function problemOf(error: unknown): EndpointProblem | undefined {
  if (hasStatus(error, 'UNIMPLEMENTED', 'PERMISSION_DENIED', 'UNAUTHENTICATED')) return 'refused';
  // Existing, though not listed: one that leads to an address, or one that another client has just made.
  if (hasStatus(error, 'ALREADY_EXISTS')) return 'taken';
  return hasStatus(error, 'INVALID_ARGUMENT', 'NOT_FOUND', 'FAILED_PRECONDITION') ? 'invalid' : undefined;
}
