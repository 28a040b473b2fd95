import { endpoints, errorCodes, type Endpoint } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { requestSchemas } from '../../tasks/request-data';
import { outputs, refusalWith, taskResponseOf } from './answer-schemas';

/** The OpenAPI 3.1 description of the service, made from the schemas that it checks requests with. */

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly endpoint: Endpoint;
  readonly summary: string;
  readonly data: z.ZodType;
}

const operations: readonly Operation[] = [
  {
    endpoint: endpoints.uploadFile,
    summary: 'Upload a file; begins a job. The engines read files of 256 MiB at most',
    data: requestSchemas.uploadFile,
  },
  { endpoint: endpoints.convertFile, summary: 'Convert an uploaded file', data: requestSchemas.convertFile },
  {
    endpoint: endpoints.taskResponse,
    summary: 'The latest response of any task',
    data: requestSchemas.taskResponse,
  },
  {
    endpoint: endpoints.downloadUrl,
    summary: 'A link to the output of a conversion',
    data: requestSchemas.dependentTask,
  },
  {
    endpoint: endpoints.downloadUrlGet,
    summary: 'The bytes of a converted file',
    data: requestSchemas.dependentTask,
  },
  { endpoint: endpoints.convertFormats, summary: 'The formats that convert', data: requestSchemas.convertFormats },
  { endpoint: endpoints.convertGraph, summary: 'Whether a pair converts', data: requestSchemas.convertGraph },
  { endpoint: endpoints.convertStatus, summary: 'How far a conversion is', data: requestSchemas.dependentTask },
  { endpoint: endpoints.formatGet, summary: 'What is known of a format', data: requestSchemas.formatGet },
];

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
        operations.map((operation) => [`/${operation.endpoint}`, { post: describeOperation(operation) }]),
      ),
      '/openapi.json': { get: descriptionOperation },
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

const descriptionOperation: Json = {
  operationId: 'openapi',
  summary: 'This description',
  security: [],
  responses: {
    200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
  },
};

function describeOperation({ endpoint, summary, data }: Operation): Json {
  const isUpload = endpoint === endpoints.uploadFile;
  const content = inputSchema(data);
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

function describeSuccess(endpoint: Endpoint): Json {
  if (endpoint === endpoints.downloadUrlGet) {
    return { description: 'The bytes of the file.', headers: refsOf(rateHeaders), content: { '*/*': {} } };
  }
  return {
    description: 'The task response. Errors of files and formats come with this status too, in result.error.',
    headers: refsOf(rateHeaders),
    content: { 'application/json': { schema: outputSchema(taskResponseOf(outputs[endpoint])) } },
  };
}

function describeRefusal(status: number): Json {
  const codes = Object.entries(errorCodes).filter(([, row]) => row.httpStatus === status);
  const headers = status === 429 ? { ...rateHeaders, 'RETRY-AFTER': {} } : rateHeaders;
  return {
    description: codes.map(([code, row]) => `\`${code}\`: ${row.message}`).join('\n\n'),
    headers: refsOf(headers),
    content: { 'application/json': { schema: outputSchema(refusalWith(codes.map(([code]) => code))) } },
  };
}

function refsOf(headers: Json): Json {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function integerHeader(description: string): Json {
  return { description, schema: { type: 'integer', minimum: 0 } };
}

function inputSchema(schema: z.ZodType): Json {
  return withoutDialect(z.toJSONSchema(schema, { io: 'input' }));
}

function outputSchema(schema: z.ZodType): Json {
  return withoutDialect(z.toJSONSchema(schema, { io: 'output' }));
}

/** OpenAPI 3.1 means this dialect anyway. */
function withoutDialect(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema'));
}
