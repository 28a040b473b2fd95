import type { FastifyInstance } from 'fastify';
import { classOfEndpoint, type Endpoint, endpoints } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import { type Account, priceOf } from '../accounts/account';
import { chooseInput, describeFormat, requireFormat, requireRoute } from '../engines/formats';
import { contentDisposition, withExtension } from '../files/file-name';
import { missingFile } from '../files/file-store';
import { inVersion, routesOf, versionOf } from '../shared/api-version';
import { TaskError } from '../shared/task-error';
import { type AnsweredTask, formatTime, monitoredJson, resultJson } from '../tasks/answer';
import { type AnyTaskData, requestSchemas } from '../tasks/request-data';
import type { NewTask, Task, TaskStore } from '../tasks/task-store';
import { dataFieldOf } from './form';
import {
  callerOf,
  type Download,
  endedTask,
  type EndedTask,
  newTaskOf,
  readTaskRequest,
  requireRegistered,
  requireSuccessful,
  requireTask,
  type RouteOptions,
  runTask,
  sendTask,
  type ServiceContext,
  type TaskRequest,
  UnfinishedTask,
} from './task-request';

/** Every endpoint without a file in its request. */
export function addTaskRoutes(server: FastifyInstance, { versions, admission, context }: RouteOptions): void {
  serve(endpoints.convertFile, requestSchemas.convertFile, convertFile);
  serve(endpoints.taskResponse, requestSchemas.taskResponse, taskResponse);
  serve(endpoints.downloadUrl, requestSchemas.dependentTask, downloadUrl);
  serve(endpoints.convertStatus, requestSchemas.dependentTask, convertStatus);
  serve(endpoints.convertFormats, requestSchemas.convertFormats, convertFormats);
  serve(endpoints.formatGet, requestSchemas.formatGet, formatGet);
  serve(endpoints.convertGraph, requestSchemas.convertGraph, convertGraph);
  serve(endpoints.downloadUrlGet, requestSchemas.dependentTask, downloadUrlGet);

  function serve<Schema extends z.ZodType<AnyTaskData>>(
    path: Endpoint,
    schema: Schema,
    run: (
      request: TaskRequest<z.output<Schema>>,
      context: ServiceContext,
    ) => EndedTask | Promise<AnsweredTask | Download>,
  ): void {
    const { limits } = context;
    for (const { url, endpoint } of routesOf(path, versions)) {
      server.post(
        url,
        { config: { asked: { endpoint, rateClass: classOfEndpoint(path) } } },
        async (request, reply) => {
          const caller = callerOf(request, endpoint, admission);
          const asked = readTaskRequest(dataFieldOf(request, limits), { schema, limits, ...caller });
          const answer = await runTask(asked, () => run(asked, context));
          return sendTask(reply, answer, asked, context);
        },
      );
    }
  }
}

type Asked<Name extends keyof typeof requestSchemas> = TaskRequest<z.output<(typeof requestSchemas)[Name]>>;

/** `v1/convert/file`: accepts a conversion and, in mode sync, waits for its end. */
async function convertFile(request: Asked<'convertFile'>, context: ServiceContext): Promise<AnsweredTask> {
  const { app, data } = request;
  const { store, files, queue, catalog } = context;
  const source = requireSuccessful(data.connector, request, context, endpoints.uploadFile);
  if (isExpired(source)) throw missingFile(source);
  await files.requireFile(source);
  requireRegistered(app, source);
  const { output: to, input: named, ...parameters } = data.parameters;
  const output = requireFormat(catalog, to, 'output');
  const input = chooseInput(catalog, { named, fileName: source.fileName ?? '' });
  requireRoute(catalog, input, output, parameters);
  requireFreeConversion(app, store);

  const now = Date.now();
  const task: NewTask = {
    ...newTaskOf(request),
    status: 'hold',
    connector: source.id,
    inputFormat: input.name,
    outputFormat: output.name,
    fileName: withExtension(source.fileName ?? '', output.extensions[0]),
    fileSha256: source.fileSha256,
    createdAt: now,
  };
  store.admit(task, priceOf(app.prices, input.name, output.name));
  queue.enqueue(task.id);
  // Public clients take any other status for a failure. Monitoring shows whether the task is still on hold.
  if (data.mode === 'async') return { ...task, status: 'running', startedAt: now };
  await queue.finished(task.id);
  const completed = store.findOfApp(task.id, app.appId);
  if (completed?.status === 'completed') return completed;
  throw new UnfinishedTask('INTERNAL_SERVER_ERROR', {
    message: `The service is shutting down; conversion ${task.id} continues when it starts again. Ask task/response for it.`,
  });
}

function isExpired({ expiresAt }: Task): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

function requireFreeConversion({ appId, freeApp }: Account, store: TaskStore): void {
  if (!freeApp) return;
  const dayMs = 24 * 60 * 60 * 1000;
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  if (store.countConversionsSince(appId, today) < freeApp.dailyConversions) return;
  const hours = Math.max(1, Math.ceil((today + dayMs - Date.now()) / (60 * 60 * 1000)));
  throw new TaskError('FREE_APP_LIMITED', { subject: String(hours) });
}

async function downloadUrl(request: Asked<'dependentTask'>, context: ServiceContext): Promise<AnsweredTask> {
  const { app, data, endpoint, origin } = request;
  const converted = requireSuccessful(data.connector, request, context, endpoints.convertFile);
  requireRegistered(app, converted);
  requireUnexpired(converted);
  await context.files.requireFile(converted);

  const base = newTaskOf(request);
  const { id: connector } = base;
  const now = Date.now();
  const { fileName, fileSize, fileSha256, expiresAt } = converted;
  const output = {
    connector,
    name: fileName ?? connector,
    size: fileSize ?? 0,
    expires_at: formatTime(expiresAt ?? now),
    url: `${origin()}/${inVersion(endpoints.downloadUrlGet, versionOf(endpoint))}`,
  };
  const file = { connector: converted.id, fileName, fileSize, fileSha256, expiresAt };
  const times = { createdAt: now, startedAt: now, completedAt: now };
  return context.store.insert({ ...base, status: 'completed', result: resultJson({ output }), ...file, ...times });
}

/** `v1/download/url/get`: the bytes of a converted file, to their end even if the file is removed meanwhile. */
async function downloadUrlGet(request: Asked<'dependentTask'>, context: ServiceContext): Promise<Download> {
  const link = requireSuccessful(request.data.connector, request, context, endpoints.downloadUrl);
  requireRegistered(request.app, link);
  const converted = requireTask(link.connector ?? '', request, context);
  requireUnexpired(converted);
  const bytes = await context.files.read(converted);
  const { mediaType = 'application/octet-stream' } = context.catalog.find(converted.outputFormat ?? '') ?? {};
  return {
    bytes,
    headers: {
      // Public clients parse every JSON type as a task response.
      'content-type': /[/+]json\b/.test(mediaType) ? 'application/octet-stream' : mediaType,
      'content-length': converted.fileSize ?? 0,
      'content-disposition': contentDisposition(converted.fileName ?? converted.id),
      // No browser may run the file as a page of this service.
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  };
}

function requireUnexpired(converted: Task): void {
  if (isExpired(converted)) throw new TaskError('DOWNLOAD_EXPIRED');
}

/** `v1/task/response`: the latest response of a task. `parameters.include` selects its items, `include` those of the answer around it. */
function taskResponse(request: Asked<'taskResponse'>, context: ServiceContext): EndedTask {
  const { connector, parameters } = request.data;
  const output = monitoredJson(requireTask(connector, request, context), parameters.include);
  return endedTask(request, `{"output":${output},"error":{},"warning":{}}`);
}

function convertStatus(request: Asked<'dependentTask'>, context: ServiceContext): EndedTask {
  const task = requireTask(request.data.connector, request, context, endpoints.convertFile);
  const ended = task.errorCode === null ? 'successful' : 'failed';
  const progress = context.queue.isWaiting(task.id) ? 'waiting' : 'pending';
  const output = { status: task.status === 'completed' ? ended : progress };
  return endedTask(request, resultJson({ output }));
}

/** `v1/convert/formats`: the formats at one end; with `format`, only those that convert from or to it. */
function convertFormats(request: Asked<'convertFormats'>, { catalog }: ServiceContext): EndedTask {
  const { sublist, format } = request.data.parameters;
  const partner = format === undefined ? undefined : requireFormat(catalog, format, 'any');
  const formats = catalog.list(sublist, partner).map(describeFormat);
  return endedTask(request, resultJson({ output: { formats } }));
}

function formatGet(request: Asked<'formatGet'>, { catalog }: ServiceContext): EndedTask {
  const output = describeFormat(requireFormat(catalog, request.data.parameters.format, 'any'));
  return endedTask(request, resultJson({ output }));
}

/** `v1/convert/graph`: whether a pair converts, and whether it does in the other direction. */
function convertGraph(request: Asked<'convertGraph'>, { catalog }: ServiceContext): EndedTask {
  const { parameters } = request.data;
  const input = requireFormat(catalog, parameters.input, 'input');
  const output = requireFormat(catalog, parameters.output, 'output');
  const graph = { is_match: catalog.converts(input, output), is_reversable: catalog.converts(output, input) };
  return endedTask(request, resultJson({ output: graph }));
}
