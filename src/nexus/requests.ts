import { HandlerError } from 'nexus-rpc';
import { z } from 'zod';
import type { BatchRequest } from '../client/batch-request';
import { checkRequest, InvalidRequestError, type ConversionRequest } from '../client/job-request';
import type { InlineItem } from '../shared/batch';
import type { ConversionOutput } from '../shared/job';
import type { ConvertBatchInput, ConvertInput, CreditsRestoredInput, StateInput } from '../shared/nexus-service';

/** What callers send is checked here: their programs know neither our types nor the worker's folders. */

const app = z.string();
const key = z
  .string()
  .max(200)
  .regex(/^[^\s\p{Cc}]([^\p{Cc}]*[^\s\p{Cc}])?$/u, 'must be text such as archive-42');
const workflowId = z.string().min(1);

const convertSchema = z.looseObject({ app, key });
const batchSchema = z.looseObject({ app });
const targetSchema = z
  .strictObject({ app, key: key.optional(), workflowId: workflowId.optional() })
  .refine((target) => target.key === undefined || target.workflowId === undefined, {
    message: 'must not be given beside workflowId',
    path: ['key'],
  });
const stateSchema = targetSchema.refine((target) => target.key !== undefined || target.workflowId !== undefined, {
  message: 'must be given, or workflowId',
  path: ['key'],
});

/** A job or batch of an app that callers may use. */
export interface Target {
  app: string;
  workflowId: string;
}

/** Turns what a caller did wrong into an error that Nexus does not retry. */
export class CallerRequests {
  constructor(private readonly apps: readonly string[]) {}

  convert(input: ConvertInput): { workflowId: string; request: ConversionRequest } {
    this.check(convertSchema, input, "This conversion can't be started.");
    const { key, ...request } = input;
    const { source, destination } = request;
    requireUris({ source, 'source.uri': (source as { uri?: unknown } | undefined)?.uri, destination });
    if (Array.isArray(request.outputs)) request.outputs.forEach(requireOutputUri);
    return { workflowId: jobIdOf(request.app, key), request };
  }

  convertBatch(input: ConvertBatchInput): BatchRequest {
    this.check(batchSchema, input, "This batch can't be started.");
    const { folder, items } = input;
    requireUris({ folder });
    if (Array.isArray(items)) items.forEach(requireItemUris);
    return input;
  }

  state(input: StateInput): Target {
    this.check(stateSchema, input, "This state can't be looked up.");
    return { app: input.app, workflowId: targetOf(input) ?? '' };
  }

  creditsRestored(input: CreditsRestoredInput): { app: string; workflowId: string | undefined } {
    this.check(targetSchema, input, "These jobs can't be told.");
    return { app: input.app, workflowId: targetOf(input) };
  }

  private check(schema: z.ZodType, input: { app: string }, what: string): void {
    checkRequest(schema, input, what);
    if (this.apps.includes(input.app)) return;
    const allowed = this.apps.join(', ');
    throw new HandlerError('UNAUTHORIZED', `${what} app: callers may not use ${input.app}; they may use: ${allowed}`);
  }
}

/** Two apps never share an id, whatever slashes app and key have. */
function jobIdOf(app: string, key: string): string {
  return `nexus/${encodeURIComponent(app)}/${key}`;
}

function targetOf({ app, key, workflowId }: StateInput): string | undefined {
  return key === undefined ? workflowId : jobIdOf(app, key);
}

function requireItemUris(item: Partial<InlineItem> | null, index: number): void {
  requireUris({ [`items.${index}.source`]: item?.source, [`items.${index}.destination`]: item?.destination });
}

function requireOutputUri(output: Partial<ConversionOutput> | null, index: number): void {
  requireUris({ [`outputs.${index}.destination`]: output?.destination });
}

/** A program that starts jobs resolves paths in its own working directory; here that would be the worker's. */
function requireUris(fields: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value !== 'string' || /^[a-z][a-z0-9+.-]+:/i.test(value)) continue;
    throw new InvalidRequestError(`${field}: must be a URI such as file:///invoices/17.docx, not a path`);
  }
}
