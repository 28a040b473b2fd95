import { type Endpoint, endpoints, errorCodes, taskStatuses } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { requestSchemas } from '../tasks/request-data';

/** The OpenAPI 3.1 description of the service, made from the schemas that it checks requests with. */

type Json = Readonly<Record<string, unknown>>;

/** Names of the answers that are errors, by their HTTP status. */
const refusals: Readonly<Record<number, string>> = {
  400: 'Invalid',
  403: 'Forbidden',
  404: 'NotThere',
  405: 'PostOnly',
  429: 'TooMany',
  500: 'ServiceFailure',
};

const rateHeaders: Json = {
  'X-RATELIMIT-LIMIT': integerHeader('Most requests in a window.'),
  'X-RATELIMIT-REMAINING': integerHeader('Requests still allowed in the window.'),
  'X-RATELIMIT-RESET': integerHeader('Seconds until the limit resets.'),
};

/** The description as JSON: the build writes it to the file that `/openapi.json` serves. */
export function describeService(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'File Conversion Task API',
      version: '1',
      description:
        'Every request is a task: a form whose field `data` holds a JSON object. A job goes from upload/file over convert/file, monitored with task/response, to download/url and download/url/get; each task takes the connector of the one before.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ appToken: [] }],
    paths: {
      ...Object.fromEntries(
        Object.values(endpoints).map((endpoint) => [`/${endpoint}`, { post: describeOperation(endpoint) }]),
      ),
      '/openapi.json': {
        get: {
          operationId: 'openapi',
          summary: 'This description',
          security: [],
          responses: { 200: answerOf('OpenAPI 3.1.', { type: 'object' }) },
        },
      },
    },
    components: {
      securitySchemes: { appToken: { type: 'http', scheme: 'bearer', description: 'The app token.' } },
      headers: { ...rateHeaders, 'RETRY-AFTER': integerHeader('Seconds to wait before a new request.') },
      responses: Object.fromEntries(
        Object.entries(refusals).map(([status, name]) => [name, describeRefusal(Number(status))]),
      ),
    },
  };
}

function describeOperation(endpoint: Endpoint): Json {
  const { summary, data } = operations[endpoint];
  const isUpload = endpoint === endpoints.uploadFile;
  const content = describeSchema(data, 'input');
  // OpenAPI 3.1 describes bytes without a type.
  const file = { contentMediaType: 'application/octet-stream' };
  // A form without parts has text alone, so that there the field is described as text that holds JSON.
  const text = { type: 'string', contentMediaType: 'application/json', contentSchema: content };
  const form = (properties: Json): Json => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  return {
    operationId: endpoint.split('/').slice(1).join('-'),
    summary,
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: form(isUpload ? { data: content, file } : { data: content }),
          encoding: { data: { contentType: 'application/json' } },
        },
        ...(!isUpload && { 'application/x-www-form-urlencoded': { schema: form({ data: text }) } }),
      },
    },
    responses: {
      200: describeSuccess(endpoint),
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
      ),
    },
  };
}

function answerOf(description: string, schema: Json, headers?: Json): Json {
  return { description, ...(headers && { headers: refsOf(headers) }), content: { 'application/json': { schema } } };
}

function describeSuccess(endpoint: Endpoint): Json {
  const { output } = operations[endpoint];
  if (!output) {
    return { description: 'The bytes of the file.', headers: refsOf(rateHeaders), content: { '*/*': {} } };
  }
  const description = 'The task response. Errors of files and formats come with this status too, in result.error.';
  return answerOf(description, describeSchema(taskResponseOf(output), 'output'), rateHeaders);
}

function describeRefusal(status: number): Json {
  const codes = Object.entries(errorCodes).filter(([, row]) => row.httpStatus === status);
  const headers = status === 429 ? { ...rateHeaders, 'RETRY-AFTER': {} } : rateHeaders;
  const description = codes.map(([code, row]) => `\`${code}\`: ${row.message}`).join('\n\n');
  return answerOf(description, describeSchema(refusalWith(codes.map(([code]) => code)), 'output'), headers);
}

function refsOf(headers: Json): Json {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function integerHeader(description: string): Json {
  return { description, schema: { type: 'integer', minimum: 0 } };
}

function describeSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const described = z.toJSONSchema(schema, { io });
  // OpenAPI 3.1 means this dialect anyway.
  delete described.$schema;
  return described;
}

/**
 * What this service answers, for its description. The contract's schemas say what a client tolerates; these are exact.
 */

const datetime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/)
  .meta({ description: 'Date and time in UTC: YYYY-MM-DD HH:MM:SS.' });

const entityKeys = {
  id: z.uuid().meta({ description: 'Task ID. Equals the connector in the output, when the task produces one.' }),
  type: z.literal('task'),
  endpoint: z.string().meta({ description: 'Path of the task, with its version segment.' }),
  status: z.enum(taskStatuses),
  vcredits: z.int().min(0).meta({ description: 'vCredits consumed: 0 before a task has succeeded.' }),
  created_at: datetime.nullable().meta({ description: 'When it was accepted.' }),
  started_at: datetime.nullable().meta({ description: 'When an engine began; null while it is on hold.' }),
  completed_at: datetime.nullable().meta({ description: 'When it ended, well or not.' }),
};

const entity = z.strictObject(entityKeys).meta({ description: 'Section "Entity keys".' });

const nothing = z.strictObject({});

function errorWith(codes: readonly string[]) {
  return z.strictObject({ code: z.enum(codes), message: z.string().min(1) });
}

const anyError = errorWith(Object.keys(errorCodes));
const warning = z
  .record(z.string(), z.string())
  .meta({ description: 'Names of warnings, and how to resolve each. Empty when there are none.' });

/** Of a conversion that was accepted and failed. */
const failedOutput = z.strictObject({ status: z.literal('failed'), duration: z.int().min(0) });

function resultOf(output: z.ZodType): z.ZodType {
  return z.union([
    z.strictObject({ output, error: nothing, warning }),
    z.strictObject({ output: z.union([nothing, failedOutput]), error: anyError, warning }),
    // While the task is not completed.
    z.strictObject({ output: nothing, error: nothing, warning }),
  ]);
}

/** What was sent in the field `data`. */
const payload = z.record(z.string(), z.unknown());

/** "Task response body"; which of the items are there depends on `include`. */
export function taskResponseOf(output: z.ZodType): z.ZodType {
  return z.strictObject({
    entity: entity.optional(),
    payload: payload.optional(),
    result: resultOf(output).optional(),
    // Beside a result that holds the error at 4xx and 5xx, and wherever include leaves the result out.
    ...anyError.partial().shape,
  });
}

/** The answer to a request that failed before or as a task. */
export function refusalWith(codes: readonly string[]): z.ZodType {
  const error = errorWith(codes);
  return z.strictObject({
    entity: entity.optional(),
    payload: payload.optional(),
    result: z.strictObject({ output: nothing, error, warning }).optional(),
    ...error.shape,
  });
}

const format = z.strictObject({
  format: z.string(),
  extension: z.string(),
  type: z.string().nullable(),
  name: z.string(),
  title: z.string(),
  categories: z.array(z.string()),
});

const file = { connector: z.uuid(), name: z.string(), size: z.int().min(0), expires_at: datetime };

interface Operation {
  readonly summary: string;
  /** What the field `data` holds. */
  readonly data: z.ZodType;
  /** The output of the task when it succeeds; `download/url/get` answers bytes. */
  readonly output?: z.ZodType;
}

export const operations: Readonly<Record<Endpoint, Operation>> = {
  [endpoints.uploadFile]: {
    summary: 'Upload a file; begins a job. The engines read files of 256 MiB at most',
    data: requestSchemas.uploadFile,
    output: z.strictObject(file),
  },
  [endpoints.convertFile]: {
    summary: 'Convert an uploaded file',
    data: requestSchemas.convertFile,
    output: z.strictObject({
      connector: z.uuid(),
      status: z.literal('successful'),
      duration: z.int().min(0).meta({ description: 'Seconds.' }),
    }),
  },
  [endpoints.taskResponse]: {
    summary: 'The latest response of any task',
    data: requestSchemas.taskResponse,
    output: z
      .strictObject({
        entity: entity.optional(),
        payload: payload.optional(),
        result: resultOf(z.record(z.string(), z.unknown())).nullable().optional(),
      })
      .meta({ description: 'Entity, payload and result of the monitored task, as parameters.include selects.' }),
  },
  [endpoints.downloadUrl]: {
    summary: 'A link to the output of a conversion',
    data: requestSchemas.dependentTask,
    output: z.strictObject({ ...file, url: z.url() }),
  },
  [endpoints.downloadUrlGet]: { summary: 'The bytes of a converted file', data: requestSchemas.dependentTask },
  [endpoints.convertFormats]: {
    summary: 'The formats that convert',
    data: requestSchemas.convertFormats,
    output: z.strictObject({ formats: z.array(format) }),
  },
  [endpoints.convertGraph]: {
    summary: 'Whether a pair converts',
    data: requestSchemas.convertGraph,
    output: z.strictObject({
      is_match: z.boolean().meta({ description: 'Whether the input converts to the output.' }),
      is_reversable: z.boolean().meta({ description: 'Whether the output converts back to the input.' }),
    }),
  },
  [endpoints.convertStatus]: {
    summary: 'How far a conversion is',
    data: requestSchemas.dependentTask,
    output: z.strictObject({ status: z.enum(['waiting', 'pending', 'successful', 'failed']) }),
  },
  [endpoints.formatGet]: { summary: 'What is known of a format', data: requestSchemas.formatGet, output: format },
};
