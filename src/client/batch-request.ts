import { z } from 'zod';
import { type ConversionBatchInput, maxWindow } from '../shared/batch';
import { defined } from '../shared/defined';
import { checkRequest, jobOptions, toUri } from './job-request';

const requestSchema = z.strictObject({
  ...jobOptions,
  name: z
    .string()
    .max(200)
    // Job ids put a slash between batch and item.
    .regex(/^[^\s/\p{Cc}]([^/\p{Cc}]*[^\s/\p{Cc}])?$/u, 'must be text without slashes, such as invoices-2026'),
  app: z.string().min(1).optional(),
  folder: z.string().min(1),
  items: z.int().nonnegative(),
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

/** A program's request for a batch: the workflow's input, with paths allowed in place of `file:` URIs. */
export interface BatchRequest extends Omit<ConversionBatchInput, 'app'> {
  /** The batch's name and workflow id; its jobs are named `<name>/<item>`. */
  name: string;
  /** Default: the client's app profile. */
  app?: string;
}

/** @throws InvalidRequestError */
export function toBatchInput(request: BatchRequest, defaultApp: string): ConversionBatchInput {
  checkRequest(requestSchema, request, "This batch can't be started.");
  const { app = defaultApp, items, window, onExisting, mode, policies, stopAfter, uiUrl, resubmit } = request;
  const { historyLimit } = request;
  const folder = toUri(request.folder);
  return {
    app,
    folder: folder.endsWith('/') ? folder : `${folder}/`,
    items,
    ...defined({ window, onExisting, mode, policies, stopAfter, uiUrl: uiUrl && withoutCredentials(uiUrl) }),
    ...defined({ resubmit, historyLimit }),
  };
}

/** Anyone with access to Temporal can read the workflow's input. */
function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
