import { createReadStream } from 'node:fs';
import formbody from '@fastify/formbody';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { endpoints, type IncludeItem } from '../api/contract';
import { lookUpErrorCode } from '../api/error-codes';
import { type AnsweredTask, errorJson, errorStatus, taskJson } from './answer';
import { type Authenticator, requireSameApp, type ServiceApp } from './authentication';
import { inspectError } from './caught';
import { convertFile } from './endpoints/convert-file';
import { convertStatus } from './endpoints/convert-status';
import { downloadUrl, findDownload } from './endpoints/download-url';
import type { JsonEndpoint, ServiceContext } from './endpoints/endpoint';
import { convertFormats, convertGraph, formatGet } from './endpoints/format-endpoints';
import { taskResponse } from './endpoints/task-response';
import { keepUpload } from './endpoints/upload-file';
import { dataFieldOf, readMultipartForm } from './form';
import { parseRequestData, requestSchemas } from './request-data';
import { TaskError } from './task-error';
import { receiveUpload, registerUploadForms } from './upload-route';

const maxDataBytes = 1024 * 1024;
const paths: readonly string[] = Object.values(endpoints).map((path) => `/${path}`);

interface ServerOptions {
  context: ServiceContext;
  authenticator: Authenticator;
  log: (line: string) => void;
}

/** The HTTP side: authentication, forms, errors, and the way from a path to its endpoint. */
export async function createServer({ context, authenticator, log }: ServerOptions): Promise<FastifyInstance> {
  const server = fastify({ bodyLimit: maxDataBytes, logger: false, requestTimeout: 0, return503OnClosing: false });
  const apps = new WeakMap<FastifyRequest, ServiceApp>();
  await addFormParsers(server);

  server.setNotFoundHandler((request, reply) => {
    const isKnown = paths.includes(request.url.split('?')[0] ?? '');
    if (isKnown) void reply.header('allow', 'POST');
    return sendError(reply, new TaskError(isKnown ? 'POST_METHOD_ALLOWED' : 'NOT_FOUND'));
  });
  server.setErrorHandler((error, request, reply) => {
    const known = toTaskError(error);
    if (known) return sendError(reply, known);
    log(`${request.routeOptions.url ?? 'request'} failed: ${inspectError(error).stack ?? String(error)}`);
    return sendError(reply, new TaskError('INTERNAL_SERVER_ERROR'));
  });

  /** Before the body is read, so that a stranger's upload never touches the disk. */
  const authenticate = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    try {
      apps.set(request, authenticator.authenticate(request.headers.authorization));
      done();
    } catch (error) {
      done(error instanceof TaskError ? error : new TaskError('INTERNAL_SERVER_ERROR'));
    }
  };
  const appOf = (request: FastifyRequest): ServiceApp => {
    const app = apps.get(request);
    if (!app) throw new TaskError('MISSING_AUTHORIZATION_HEADER');
    return app;
  };

  function serve<Schema extends z.ZodType<{ app: string; include: IncludeItem[] }>>(
    endpoint: JsonEndpoint<Schema>,
  ): void {
    server.post(`/${endpoint.path}`, { onRequest: authenticate }, async (request, reply) => {
      const app = appOf(request);
      const { raw, data } = parseRequestData(dataFieldOf(request), endpoint.schema);
      requireSameApp(app, data.app);
      const task = await endpoint.run({ app, data, payload: raw }, context);
      return sendTask(reply, task, data.include);
    });
  }
  serve(convertFile);
  serve(taskResponse);
  serve(downloadUrl);
  serve(convertStatus);
  serve(convertFormats);
  serve(formatGet);
  serve(convertGraph);

  await server.register(async (scope) => {
    scope.removeContentTypeParser('multipart/form-data');
    await registerUploadForms(scope, { maxUploadBytes: context.maxUploadBytes, maxDataBytes });
    scope.post(`/${endpoints.uploadFile}`, { onRequest: authenticate }, async (request, reply) => {
      const app = appOf(request);
      return receiveUpload(request, { app, files: context.files }, async ({ raw, data, file }) => {
        const task = await keepUpload({ app, payload: raw, file }, context);
        return sendTask(reply, task, data.include);
      });
    });
  });

  server.post(`/${endpoints.downloadUrlGet}`, { onRequest: authenticate }, async (request, reply) => {
    const app = appOf(request);
    const { data } = parseRequestData(dataFieldOf(request), requestSchemas.dependentTask);
    requireSameApp(app, data.app);
    const { file, headers } = await findDownload({ app, connector: data.connector }, context);
    return reply.headers(headers).send(createReadStream(file));
  });

  return server;
}

async function addFormParsers(server: FastifyInstance): Promise<void> {
  server.removeAllContentTypeParsers();
  await server.register(formbody, { bodyLimit: maxDataBytes });
  server.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer', bodyLimit: maxDataBytes },
    (request: FastifyRequest, body: Buffer) =>
      Promise.resolve(readMultipartForm(body, request.headers['content-type'] ?? '')),
  );
  // Any other kind of body has no field named data, and the endpoint says so in the document's words.
  server.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null, undefined);
  });
}

function sendTask(reply: FastifyReply, task: AnsweredTask, include: readonly IncludeItem[]): FastifyReply {
  const errorCode = 'errorCode' in task && typeof task.errorCode === 'string' ? task.errorCode : undefined;
  const status = errorCode === undefined ? 200 : (lookUpErrorCode(errorCode)?.httpStatus ?? 200);
  return sendJson(reply, status, taskJson(task, include));
}

function sendError(reply: FastifyReply, error: TaskError): FastifyReply {
  return sendJson(reply, errorStatus(error), errorJson(error));
}

function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}

/** The document's error for what went wrong, or undefined when it is the service's own fault. */
function toTaskError(error: unknown): TaskError | undefined {
  if (error instanceof TaskError) return error;
  const { code, statusCode = 500 } = inspectError(error);
  if (code === 'FST_FILES_LIMIT') return new TaskError('INVALID_FIELD', { subject: 'file' });
  // A form that cannot be read: cut off, malformed, too large.
  if (statusCode >= 400 && statusCode < 500) return new TaskError('INVALID_FIELD', { subject: 'data' });
  return undefined;
}
