import { isGrpcServiceError, type Client } from '@temporalio/client';

/** Where a Nexus endpoint leads. */
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

/** gRPC INVALID_ARGUMENT, NOT_FOUND and FAILED_PRECONDITION. */
const invalid: readonly number[] = [3, 5, 9];
/** UNIMPLEMENTED, PERMISSION_DENIED and UNAUTHENTICATED. */
const refusals: readonly number[] = [12, 7, 16];
const alreadyExists = 6;

/**
 * Makes a Nexus endpoint unless there is one that leads to the same target: false then.
 * @throws NexusEndpointError
 */
export async function ensureNexusEndpoint(client: Client, name: string, target: EndpointTarget): Promise<boolean> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const { operatorService } = connection;
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
    if (!isGrpcServiceError(error)) throw error;
    const code: number = error.code;
    const reason = error.details === '' ? error.message : error.details;
    const message = `Temporal does not make the endpoint ${name}: ${reason}.`;
    if (refusals.includes(code)) throw new NexusEndpointError(message, 'refused', { cause: error });
    // Existing, though not listed: one that leads to an address, or one that another client has just made.
    if (code === alreadyExists) throw new NexusEndpointError(message, 'taken', { cause: error });
    if (invalid.includes(code)) throw new NexusEndpointError(message, 'invalid', { cause: error });
    throw error;
  }
}
