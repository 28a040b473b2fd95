import { TaskError } from '../shared/task-error';

/**
 * A page of the web can give a name of its own to 127.0.0.1 and then ask this service as if it were its own (DNS rebinding); but its
 * requests still carry that name.
 */

/** A name or an address that leads to this machine, without a port. */
export function isLoopbackName(name: string): boolean {
  return /^(127(\.\d{1,3}){3}|\[?(::1|::ffff:127(\.\d{1,3}){3})\]?|([\w-]+\.)*localhost\.?)$/i.test(name);
}

/** The refusal of a request that names another host. HTTP/1.0 needs to name none. */
export function refuseHost(host: string | undefined): TaskError | undefined {
  if (!host || isLoopbackName(host.replace(/:\d*$/, ''))) return undefined;
  const shown = host.replace(/[^\w.:[\]-]/g, '?').slice(0, 100);
  return new TaskError('INVALID_FIELD', {
    message: `The request names the host ${shown}, and this service serves its own machine alone, as localhost or 127.0.0.1. A proxy before it has to send one of those as Host, or set allow_remote = "on" in [service].`,
  });
}
