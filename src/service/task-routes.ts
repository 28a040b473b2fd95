import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { endpoints } from '../api/contract';
import type { RateClass } from './accounts/account';
import type { Admission } from './admission';
import { inVersion } from './api-version';
import { requireSameApp } from './authentication';
import { requireVerifiedCallback } from './callbacks/callback-domain';
import { convertFile } from './endpoints/convert-file';
import { convertStatus } from './endpoints/convert-status';
import { downloadUrl, findDownload } from './endpoints/download-url';
import type { JsonEndpoint, ServiceContext, TaskRequest } from './endpoints/endpoint';
import { convertFormats, convertGraph, formatGet } from './endpoints/format-endpoints';
import { taskResponse } from './endpoints/task-response';
import { keepUpload } from './endpoints/upload-file';
import { dataFieldOf } from './form';
import { RefusedTask, sendTask } from './reply';
import { type AnyTaskData, parseRequestData, requestSchemas } from './request-data';
import { TaskError } from './task-error';
import { receiveUpload } from './upload-route';

/** What a route is to admission. */
export interface AskedEndpoint {
  /** `v1/convert/file`. */
  readonly endpoint: string;
  readonly rateClass: RateClass;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    asked?: AskedEndpoint;
  }
}

interface RouteOptions {
  version: string;
  admission: Admission;
  context: ServiceContext;
}

/** Every endpoint without a file in its request, in one version of the API. */
export function addTaskRoutes(server: FastifyInstance, { version, admission, context }: RouteOptions): void {
  serve(convertFile);
  serve(taskResponse);
  serve(downloadUrl);
  serve(convertStatus);
  serve(convertFormats);
  serve(formatGet);
  serve(convertGraph);
  serveDownload();

  function serve<Schema extends z.ZodType<AnyTaskData>>(served: JsonEndpoint<Schema>): void {
    const { path, rateClass, schema } = served;
    const endpoint = inVersion(path, version);
    server.post(`/${endpoint}`, { config: { asked: { endpoint, rateClass } } }, async (request, reply) => {
      const asked = readTask(request, { endpoint, schema });
      const task = await runTask(asked, () => served.run(asked, context));
      return sendTask(reply, task, asked, context);
    });
  }

  function serveDownload(): void {
    const endpoint = inVersion(endpoints.downloadUrlGet, version);
    const schema = requestSchemas.dependentTask;
    server.post(`/${endpoint}`, { config: { asked: { endpoint, rateClass: 'download' } } }, async (request, reply) => {
      const asked = readTask(request, { endpoint, schema });
      const { bytes, headers } = await runTask(asked, () => findDownload(asked, context));
      return reply.headers(headers).send(bytes);
    });
  }

  function readTask<Schema extends z.ZodType<AnyTaskData>>(
    request: FastifyRequest,
    { endpoint, schema }: { endpoint: string; schema: Schema },
  ): TaskRequest<z.output<Schema>> {
    const app = admission.appOf(request);
    const { raw: payload, data } = parseRequestData(dataFieldOf(request, context.limits), schema, context.limits);
    requireSameApp(app, data.app);
    return { app, endpoint, data, payload };
  }
}

/** `upload/file`, in a scope of the server that reads uploads. */
export function addUploadRoute(scope: FastifyInstance, { version, admission, context }: RouteOptions): void {
  const endpoint = inVersion(endpoints.uploadFile, version);
  scope.post(`/${endpoint}`, { config: { asked: { endpoint, rateClass: 'upload' } } }, async (request, reply) => {
    const caller = { app: admission.appOf(request), endpoint };
    const { asked, task } = await receiveUpload(request, { ...caller, ...context }, async (upload) => ({
      asked: upload,
      task: await runTask(upload, () => keepUpload(upload, context)),
    }));
    return sendTask(reply, task, asked, context);
  });
}

/** Runs a task whose data was understood; what it is refused with knows the request. */
async function runTask<Result>(asked: TaskRequest<AnyTaskData>, run: () => Result | Promise<Result>): Promise<Result> {
  try {
    requireVerifiedCallback(asked.data.callback, asked.app);
    return await run();
  } catch (error) {
    throw error instanceof TaskError ? new RefusedTask(error, asked) : error;
  }
}
