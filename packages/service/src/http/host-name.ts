import { isLoopback } from 'temporal-file-conversion/network';
import { TaskError } from '../shared/task-error';

/**
 * A page of the web can give a name of its own to 127.0.0.1 and then ask this service as if it were its own (DNS rebinding); but its
 * requests still carry that name.
 */

/** The refusal of a request that names another host. HTTP/1.0 needs to name none. */
export function refuseHost(host: string | undefined): TaskError | undefined {
  if (!host || isLoopback(host.replace(/:\d*$/, ''))) return undefined;
  const shown = host.replace(/[^\w.:[\]-]/g, '?').slice(0, 100);
  return new TaskError('INVALID_FIELD', {
    message: `The request names the host ${shown}, and this service serves its own machine alone, as localhost or 127.0.0.1. A proxy before it has to send one of those as Host, or set allow_remote = "on" in [service].`,
  });
}
