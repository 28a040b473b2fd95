import { z } from 'zod';
import { asFolder } from '../batch/uris';
import { type ConversionBatchInput, type InlineItem, maxInlineItems, maxWindow } from '../shared/batch';
import { defined } from '../shared/defined';
import { isFormatName } from '../shared/format-name';
import { checkRequest, InvalidRequestError, jobOptions, parametersSchema, toUri } from './job-request';

const format = z.string().refine(isFormatName, 'must be a format name such as pdf');
const itemSchema = z.strictObject({
  source: z.string().min(1),
  output: format,
  input: format.optional(),
  parameters: parametersSchema.optional(),
  destination: z.string().regex(/[^/]$/, 'must be a file, not a folder'),
  onExisting: jobOptions.onExisting,
});

const requestSchema = z.strictObject({
  ...jobOptions,
  name: z
    .string()
    .max(200)
    // Job ids put a slash between batch and item.
    .regex(/^[^\s/\p{Cc}]([^/\p{Cc}]*[^\s/\p{Cc}])?$/u, 'must be text without slashes, such as invoices-2026'),
  app: z.string().min(1).optional(),
  folder: z.string().min(1).optional(),
  items: z.int('must be a list of items, or the number of rows of a planned batch').nonnegative(),
  window: z.int().min(1).max(maxWindow).optional(),
  stopAfter: z
    .strictObject({
      failures: z.int().positive().optional(),
      percent: z.number().positive().max(100).optional(),
    })
    .optional(),
  uiUrl: z.url({ protocol: /^https?$/ }).optional(),
  resubmit: z.literal(true).optional(),
  historyLimit: z.int().positive().optional(),
});

const inlineSchema = requestSchema.extend({
  items: z.array(itemSchema).max(maxInlineItems, `must be at most ${maxInlineItems} when they are inline`),
});

/** A program's request for a batch that is planned, or of inline items: the workflow's input, with paths in place of URIs. */
export interface BatchRequest extends Omit<ConversionBatchInput, 'app'> {
  /** The batch's name and workflow id; its jobs are named `<name>/<item>`. */
  name: string;
  /** Default: the client's app profile. */
  app?: string;
}

/** @throws InvalidRequestError */
export function toBatchInput(request: BatchRequest, defaultApp: string): ConversionBatchInput {
  checkRequest(Array.isArray(request.items) ? inlineSchema : requestSchema, request, "This batch can't be started.");
  const { app = defaultApp, window, onExisting, mode, policies, stopAfter, uiUrl, resubmit } = request;
  const { historyLimit } = request;
  const { folder, items } = request;
  if ((folder === undefined) === (typeof items === 'number')) {
    throw new InvalidRequestError(
      "This batch can't be started. folder: a number of items has one, inline items have none",
    );
  }
  return {
    app,
    ...(folder !== undefined && { folder: asFolder(toUri(folder)) }),
    items: typeof items === 'number' ? items : items.map(toInlineItem),
    ...defined({ window, onExisting, mode, policies, stopAfter, uiUrl: uiUrl && withoutCredentials(uiUrl) }),
    ...defined({ resubmit, historyLimit }),
  };
}

function toInlineItem({ source, output, input, parameters, destination, onExisting }: InlineItem): InlineItem {
  return {
    ...defined({ source: toUri(source), output, input, parameters }),
    destination: toUri(destination),
    ...defined({ onExisting }),
  };
}

/** Anyone with access to Temporal can read the workflow's input. */
function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
