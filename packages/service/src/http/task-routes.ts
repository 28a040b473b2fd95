import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endpoints } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import { inVersion, pathsOfEndpoint } from '../shared/api-version';
import type { AnyTaskData } from '../tasks/request-data';
import type { Admission, AskedEndpoint } from './admission';
import { convertFile } from './endpoints/convert-file';
import { downloadUrl, downloadUrlGet } from './endpoints/download-url';
import type { ServiceContext, TaskEndpoint } from './endpoints/endpoint';
import { convertFormats, convertGraph, convertStatus, formatGet, taskResponse } from './endpoints/lookups';
import { keepUpload } from './endpoints/upload-file';
import { dataFieldOf, receiveUpload } from './form';
import { readTaskRequest, runTask, sendTask } from './task-request';

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
  serve(downloadUrlGet);

  function serve<Schema extends z.ZodType<AnyTaskData>>({ path, rateClass, schema, run }: TaskEndpoint<Schema>): void {
    const { limits } = context;
    const endpoint = inVersion(path, version);
    for (const url of pathsOfEndpoint(path, { version, latest })) {
      server.post(url, { config: { asked: { endpoint, rateClass } } }, async (request, reply) => {
        const caller = { app: admission.appOf(request), endpoint, origin: originOf(request) };
        const asked = readTaskRequest(dataFieldOf(request, limits), { ...caller, schema, limits });
        const answer = await runTask(asked, () => run(asked, context));
        return sendTask(reply, answer, asked, context);
      });
    }
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
