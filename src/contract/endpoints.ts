import { z } from 'zod';

/**
 * The document's shapes ("Resources and their fields"), one zod schema each, shared by the client and the service.
 * Response schemas are loose: unknown keys and enum values pass through, as the pages around the document ask.
 */

/** Every endpoint path, relative to `{base_url}/`. */
export const endpoints = {
  uploadFile: 'v1/upload/file',
  convertFile: 'v1/convert/file',
  taskResponse: 'v1/task/response',
  downloadUrl: 'v1/download/url',
  downloadUrlGet: 'v1/download/url/get',
  convertFormats: 'v1/convert/formats',
  convertGraph: 'v1/convert/graph',
  convertStatus: 'v1/convert/status',
  formatGet: 'v1/format/get',
} as const;

export type Endpoint = (typeof endpoints)[keyof typeof endpoints];

export const endpointClasses = ['upload', 'submit', 'poll', 'download', 'info'] as const;

/** Endpoints that share a limit; the document only says that some, such as uploads, have a stricter one. */
export type EndpointClass = (typeof endpointClasses)[number];

const classes: Record<Endpoint, EndpointClass> = {
  [endpoints.uploadFile]: 'upload',
  [endpoints.convertFile]: 'submit',
  [endpoints.taskResponse]: 'poll',
  [endpoints.convertStatus]: 'poll',
  [endpoints.downloadUrl]: 'download',
  [endpoints.downloadUrlGet]: 'download',
  [endpoints.convertFormats]: 'info',
  [endpoints.convertGraph]: 'info',
  [endpoints.formatGet]: 'info',
};

export function classOfEndpoint(endpoint: Endpoint): EndpointClass {
  return classes[endpoint];
}

export const includeItems = ['entity', 'payload', 'result'] as const;
export type IncludeItem = (typeof includeItems)[number];

export const taskStatuses = ['hold', 'running', 'completed'] as const;

/** The form field `data` (section "Data keys"). */
export interface RequestData {
  app: string;
  connector?: string;
  include?: IncludeItem[];
  mode?: 'sync' | 'async';
  callback?: string;
  parameters?: Record<string, unknown>;
}

/** Some servers send numbers as strings. Numbers that JavaScript can't hold exactly are rejected; Temporal can't store them either. */
const count = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ])
  .pipe(z.number().nonnegative().max(Number.MAX_SAFE_INTEGER));

/** For an optional key: a value of another type counts as absent, so that the rest can still be read. */
function extra<Value extends z.ZodType>(schema: Value) {
  return schema.optional().catch(undefined);
}

/** Ids are UUIDs of 36 characters; longer ones than this would not fit where Temporal stores them and are rejected. */
const maxIdBytes = 1_024;
const id = z.string().refine((text) => Buffer.byteLength(text) <= maxIdBytes, `is longer than ${maxIdBytes} bytes`);
const connector = id.min(1);

/** Some servers send an empty object as an empty list. */
function emptyListAsAbsent(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

/** Section "Entity keys". */
export const entitySchema = z.looseObject({
  id: id.optional(),
  type: extra(z.string()),
  endpoint: extra(z.string()),
  status: z.string().optional(),
  vcredits: extra(count),
  created_at: extra(z.string()),
  started_at: extra(z.string()),
  completed_at: extra(z.string()),
});
export type Entity = z.infer<typeof entitySchema>;

/** Section "Result keys": the error object is empty if there is no error. */
const errorObjectSchema = z.looseObject({ code: z.string().optional(), message: z.string().optional() });

/** Section "Result keys". */
export const resultSchema = z.looseObject({
  output: z.preprocess(emptyListAsAbsent, z.looseObject({}).nullish()),
  error: z.preprocess(emptyListAsAbsent, errorObjectSchema.nullish()),
  warning: extra(z.record(z.string(), z.unknown())),
});
export type TaskResult = z.infer<typeof resultSchema>;

/** Section "Task response body"; also the output of task/response, which is that of the monitored task. */
export const taskResponseSchema = z.looseObject({
  entity: z.preprocess(emptyListAsAbsent, entitySchema.nullish()),
  payload: z.unknown().optional(),
  result: z.preprocess(emptyListAsAbsent, resultSchema.nullish()),
});
export type TaskResponse = z.infer<typeof taskResponseSchema>;

/** Output of upload/file (beyond the document). `size` is in bytes. */
export const uploadOutputSchema = z.looseObject({
  connector,
  name: extra(z.string()),
  size: extra(count),
  expires_at: extra(z.string()),
});

/** Section "Output of the convert-file task". `duration` is in seconds; absent while the task runs. */
export const convertOutputSchema = z.looseObject({
  connector: connector.optional(),
  status: extra(z.string()),
  duration: extra(count),
});

/** Output of download/url (beyond the document). `size` is in bytes. */
export const downloadUrlOutputSchema = uploadOutputSchema.extend({ url: extra(z.string()) });

/**
 * One format, as in format/get and convert/formats (beyond the document). `format` is its id in requests, `extension` or
 * `extension-type`; `name` its full name (`Portable Network Graphics`) and `title` a readable one.
 */
export const formatSchema = z.looseObject({
  format: z.string(),
  extension: z.string().nullish(),
  type: z.string().nullish(),
  name: z.string().optional(),
  title: z.string().optional(),
  categories: z.array(z.string()).optional(),
});
export type Format = z.infer<typeof formatSchema>;

export const formatsOutputSchema = z.looseObject({ formats: z.array(z.union([formatSchema, z.string()])) });

/** Output of convert/graph: whether the input converts to the output, and back. `is_reversable` is the service's spelling. */
export const graphOutputSchema = z.looseObject({
  is_match: z.boolean().optional(),
  is_reversable: z.boolean().optional(),
});
