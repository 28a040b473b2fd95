import { isLoopback } from 'temporal-file-conversion/network';
import { TaskError } from '../shared/task-error';

/**
 * Prevents DNS rebinding: a web page can point a name of its own at 127.0.0.1 and use this service as its own origin, but its requests
 * still carry that name.
 */

/** The refusal of a request that names another host. HTTP/1.0 need not name any. */
export function refuseHost(host: string | undefined): TaskError | undefined {
  if (!host || isLoopback(host.replace(/:\d*$/, ''))) return undefined;
  const shown = host.replace(/[^\w.:[\]-]/g, '?').slice(0, 100);
  return new TaskError('INVALID_FIELD', {
    message: `The request names the host ${shown}, and this service serves its own machine alone, as localhost or 127.0.0.1. A proxy before it has to send one of those as Host, or set allow_remote = "on" in [service].`,
  });
}
