import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endpoints } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import { inVersion, pathsOfEndpoint } from '../shared/api-version';
import { resultJson } from '../tasks/answer';
import { EphemeralTask } from '../tasks/ephemeral-tasks';
import { type AnyTaskData, requestSchemas } from '../tasks/request-data';
import type { Admission, AskedEndpoint } from './admission';
import { convertFile } from './endpoints/convert-file';
import { downloadUrl, findDownload } from './endpoints/download-url';
import type { JsonEndpoint, ServiceContext, TaskRequest } from './endpoints/endpoint';
import { convertFormats, convertGraph, convertStatus, formatGet, taskResponse } from './endpoints/lookups';
import { keepUpload } from './endpoints/upload-file';
import { dataFieldOf, receiveUpload } from './form';
import { keepEphemeral, readTaskRequest, runTask, sendTask } from './task-request';

declare module 'fastify' {
  interface FastifyContextConfig {
    asked?: AskedEndpoint;
    /** Needs no token. */
    open?: boolean;
  }
}

interface RouteOptions {
  version: string;
  /** The version that paths without one mean. */
  latest: string;
  admission: Admission;
  context: ServiceContext;
}

/** Every endpoint without a file in its request, in one version of the API. */
export function addTaskRoutes(server: FastifyInstance, { version, latest, admission, context }: RouteOptions): void {
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
    for (const url of pathsOfEndpoint(path, { version, latest })) {
      server.post(url, { config: { asked: { endpoint, rateClass } } }, async (request, reply) => {
        const asked = readTask(request, { endpoint, schema });
        const task = await runTask(asked, () => served.run(asked, context));
        return sendTask(reply, task, asked, context);
      });
    }
  }

  function serveDownload(): void {
    const endpoint = inVersion(endpoints.downloadUrlGet, version);
    const schema = requestSchemas.dependentTask;
    for (const url of pathsOfEndpoint(endpoints.downloadUrlGet, { version, latest })) {
      server.post(url, { config: { asked: { endpoint, rateClass: 'download' } } }, async (request, reply) => {
        const asked = readTask(request, { endpoint, schema });
        const { bytes, headers } = await runTask(asked, () => findDownload(asked, context));
        // The bytes are the answer; the task itself goes to its callback alone.
        keepEphemeral(new EphemeralTask(endpoint, asked.payload, resultJson({})), asked, {
          stores: context,
          errorCode: null,
        });
        return reply.headers(headers).send(bytes);
      });
    }
  }

  function readTask<Schema extends z.ZodType<AnyTaskData>>(
    request: FastifyRequest,
    { endpoint, schema }: { endpoint: string; schema: Schema },
  ): TaskRequest<z.output<Schema>> {
    const { limits } = context;
    const app = admission.appOf(request);
    return readTaskRequest(dataFieldOf(request, limits), { app, endpoint, origin: originOf(request), schema, limits });
  }
}

/** `upload/file`, in a scope of the server that reads uploads. */
export function addUploadRoute(scope: FastifyInstance, { version, latest, admission, context }: RouteOptions): void {
  const endpoint = inVersion(endpoints.uploadFile, version);
  for (const url of pathsOfEndpoint(endpoints.uploadFile, { version, latest })) {
    scope.post(url, { config: { asked: { endpoint, rateClass: 'upload' } } }, async (request, reply) => {
      const caller = { app: admission.appOf(request), endpoint, origin: originOf(request) };
      const { asked, task } = await receiveUpload(request, { ...caller, ...context }, async (upload) => ({
        asked: upload,
        task: await runTask(upload, () => keepUpload(upload, context)),
      }));
      return sendTask(reply, task, asked, context);
    });
  }
}

/** Under which the caller reached the service. */
function originOf({ protocol, host, socket }: FastifyRequest): string {
  const origin = `${protocol}://${host}`;
  const isUsable = host !== '' && URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase();
  return isUsable ? origin : `${protocol}://${socket.localAddress ?? 'localhost'}:${socket.localPort ?? 80}`;
}
