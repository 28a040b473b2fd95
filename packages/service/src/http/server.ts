import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { EndpointClass } from 'temporal-file-conversion/contract';
import type { Log } from 'temporal-file-conversion/messages';
import { isLoopback } from 'temporal-file-conversion/network';
import type { Accounts } from '../accounts/accounts';
import { addFaultHooks } from '../faults/fault-hooks';
import type { Faults } from '../faults/faults';
import { inspectError } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import type { ServiceMetrics } from '../shared/service-metrics';
import { TaskError } from '../shared/task-error';
import { statusOf } from '../tasks/answer';
import { tooMuchData, unreadableForm } from '../tasks/request-data';
import { Admission } from './admission';
import { addTaskRoutes } from './endpoints';
import { addFormParsers } from './form';
import { RefusedTask, type RouteOptions, sendRefusal } from './task-request';
import { describeUnreadable, pathOfUnknownMethod, refuseConnection, watchBody } from './unreadable-request';
import { addUploadRoute } from './upload';

interface ServerOptions extends Pick<RouteOptions, 'context' | 'versions'> {
  accounts: Accounts;
  allowRemote: boolean;
  faults: Faults;
  metrics: ServiceMetrics | undefined;
  log: Log;
}

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { context, accounts, versions, allowRemote, faults, metrics, log } = options;
  const admission = new Admission(accounts);
  /** Every path that takes a POST, with its class. */
  const paths = new Map<string, EndpointClass | undefined>();
  const { limits } = context;
  const server = fastify({
    bodyLimit: limits.maxDataBytes,
    logger: false,
    // watchBody limits the body instead.
    requestTimeout: 0,
    http: {
      requireHostHeader: false,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.headersTimeoutMs / 2)),
    },
    return503OnClosing: false,
    clientErrorHandler: refuseUnreadable,
    // A path that cannot be decoded does not exist.
    frameworkErrors: (_error, request, reply) => {
      void sendRefusal(reply, refuseUnknown(request, reply), context);
    },
  });
  // Node would answer these itself.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.server.on('connect', ({ socket }: IncomingMessage) => refuse(socket, new TaskError('POST_METHOD_ALLOWED')));
  server.addHook('onRequest', (request, reply, done) => {
    watchBody(request, limits.bodyTimeoutMs, (error) => {
      const refusal = admission.refusalOf(request) ?? error;
      if (!reply.sent) void sendRefusal(reply.header('connection', 'close'), refusal, context);
    });
    done(admit(request, reply));
  });
  addFaultHooks(server, { faults, knownApp: (request) => admission.knownApp(request) });
  // Fastify's own log would contain the URL.
  server.addHook('onResponse', ({ routeOptions }, { statusCode: status, elapsedTime }, done) => {
    const { endpoint } = routeOptions.config.asked ?? {};
    metrics?.answered({ endpoint, status, seconds: elapsedTime / 1_000 });
    log('request answered', { level: 'debug', endpoint, status, durationMs: Math.round(elapsedTime) });
    done();
  });
  server.setErrorHandler((error, request, reply) => {
    // The client has aborted a download: nothing failed, and nobody is there to be answered.
    if (reply.raw.destroyed && inspectError(error).code === 'ERR_STREAM_PREMATURE_CLOSE') return undefined;
    let cause = error instanceof RefusedTask ? error.cause : error;
    try {
      const known = toTaskError(error, limits);
      if (known) {
        if (cause !== undefined && cause !== error) logFailure(request, cause);
        // Without a readable field `data`, the refusal of an app is not answered as a task.
        const refusal = known instanceof RefusedTask ? undefined : admission.refusalOf(request);
        return sendRefusal(reply, refusal ?? known, context);
      }
    } catch (failure) {
      cause = failure;
    }
    logFailure(request, cause);
    return sendRefusal(reply, new TaskError('INTERNAL_SERVER_ERROR'), context);
  });
  server.addHook('onRoute', ({ url, method, config }) => {
    if (method === 'POST') paths.set(url, config?.asked?.rateClass);
  });
  addFormParsers(server, limits);
  addTaskRoutes(server, { versions, admission, context });
  addUploadRoute(server, { versions, admission, context });
  return server;

  function admit(request: FastifyRequest, reply: FastifyReply): TaskError | undefined {
    const { asked } = request.routeOptions.config;
    const otherHost = allowRemote ? undefined : refuseHost(request.headers.host);
    if (otherHost) return admission.admitAnonymous(request, reply) ?? otherHost;
    return asked ? admission.admit(request, reply, asked) : refuseUnknown(request, reply);
  }

  function logFailure({ routeOptions }: FastifyRequest, cause: unknown): void {
    log(`${routeOptions.url ?? 'request'} failed: ${inspectError(cause).stack ?? String(cause)}`, { level: 'error' });
  }

  function refuseUnknown(request: FastifyRequest, reply: FastifyReply): TaskError {
    const refusal = admission.admitStray(request, reply, paths.get(pathOf(request.url)));
    if (refusal) return refusal;
    const unknown = unknownPath(request.url);
    if (unknown) return unknown;
    void reply.header('allow', 'POST');
    return new TaskError('POST_METHOD_ALLOWED');
  }

  function unknownPath(url: string): TaskError | undefined {
    return paths.has(pathOf(url)) ? undefined : new TaskError('NOT_FOUND');
  }

  function refuseUnreadable(error: Error & { rawPacket?: unknown }, socket: Socket): void {
    if (inspectError(error).code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const asked = pathOfUnknownMethod(error);
    const reason = asked === undefined ? undefined : (unknownPath(asked) ?? new TaskError('POST_METHOD_ALLOWED'));
    refuse(socket, reason ?? describeUnreadable(error, limits.headersTimeoutMs));
  }

  function refuse(socket: Socket, error: TaskError): void {
    const { headers, refusal = error } = admission.countAnonymous(socket.remoteAddress ?? '');
    metrics?.answered({ endpoint: undefined, status: statusOf(refusal.code), seconds: 0 });
    const allow = refusal.code === 'POST_METHOD_ALLOWED' ? { allow: 'POST' } : {};
    refuseConnection(socket, { error: refusal, headers: { ...headers, ...allow } });
  }
}

/** Without the origin, which a request through a proxy may name. */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)[0] ?? '';
}

/** The document's error for a failure, or undefined if it is the service's own fault. */
function toTaskError(error: unknown, { maxDataBytes }: ServiceLimits): TaskError | undefined {
  if (error instanceof TaskError) return error;
  const { message = '', statusCode = 500 } = inspectError(error);
  if (statusCode === 413) return tooMuchData(maxDataBytes);
  // A form that cannot be read: cut off, malformed.
  return statusCode >= 400 && statusCode < 500 ? unreadableForm(message) : undefined;
}

/**
 * The refusal of a request that names another host, which prevents DNS rebinding: a web page can point a name of its own at 127.0.0.1 and
 * use this service as its own origin, but its requests still carry that name. HTTP/1.0 need not name any.
 */
function refuseHost(host: string | undefined): TaskError | undefined {
  if (!host || isLoopback(host.replace(/:\d*$/, ''))) return undefined;
  const shown = host.replace(/[^\w.:[\]-]/g, '?').slice(0, 100);
  return new TaskError('INVALID_FIELD', {
    message: `The request names the host ${shown}, and this service serves its own machine alone, as localhost or 127.0.0.1. A proxy before it has to send one of those as Host, or set allow_remote = "on" in [service].`,
  });
}
