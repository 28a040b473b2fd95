import { z } from 'zod';
import { type BatchCancel, type ConversionBatchInput, maxWindow } from '../shared/batch';
import { defined } from '../shared/defined';
import { checkRequest, jobOptions, toUri } from './job-request';

const windowSize = z.int().min(1).max(maxWindow);

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
  window: windowSize.optional(),
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

const cancelSchema = z.strictObject({ inFlight: z.enum(['cancel', 'finish']).optional() });

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

/** @throws InvalidRequestError */
export function checkWindow(window: number): void {
  checkRequest(z.object({ window: windowSize }), { window }, "The window can't be changed.");
}

/** @throws InvalidRequestError */
export function checkCancel(request: BatchCancel): void {
  checkRequest(cancelSchema, request, "This batch can't be cancelled so.");
}
