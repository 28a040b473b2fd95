import { z } from 'zod';
import type * as PlanModule from '../batch/plan/plan-batch';
import type { PlannedBatch } from '../batch/plan/planned-batch';
import type { SourceSelection } from '../batch/sources/find-sources';
import { asFolder, batchFolderOf, folderOf, resolveName, shownAsWritten, uriOfPath } from '../batch/uris';
import {
  type ConversionBatchInput,
  type InlineItem,
  maxInlineItems,
  maxWindow,
  repeatedDestination,
} from '../shared/batch';
import { defined } from '../shared/defined';
import { onUnknownOutcomeChoices, type OnUnknownOutcome } from '../shared/policies';
import type { ConversionParameters } from '../shared/parameters';
import { fileSize } from '../shared/wording';
import type { FileStore } from '../storage/file-store';
import {
  checkRequest,
  formatLike,
  InvalidRequestError,
  jobOptions,
  fileName,
  parametersSchema,
  text,
  toUri,
} from './job-request';

const format = formatLike('pdf');
/** Of a batch's request, what is about its plan alone. */
export const selectionSchema = z.strictObject({
  sources: z.array(text).min(1).optional(),
  manifest: fileName.optional(),
  to: z.union([format, z.array(format).min(1)], 'must be a format name such as pdf, or a list of them').optional(),
  input: format.optional(),
  parameters: parametersSchema.optional(),
  out: fileName.optional(),
  recursive: z.boolean().optional(),
  exclude: z.array(text).optional(),
  modifiedSince: z.number().optional(),
  template: text.optional(),
  runs: fileName.optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
export const planSchema = selectionSchema.extend({
  name: text,
  onUnknownOutcome: z.enum(onUnknownOutcomeChoices).optional(),
  resubmit: z.literal(true).optional(),
  again: z.literal(true).optional(),
  dryRun: z.boolean().optional(),
});

/** Which files a batch converts, and where to. Paths start from the current folder. */
export interface BatchPlanRequest extends Omit<SourceSelection, 'sources' | 'filesFrom'> {
  /** The batch's name. The same name again converts what is new or has changed. */
  name: string;
  /** Files, folders, patterns such as `in/*.docx`, each as a path or URI; or else a `manifest`. */
  sources?: readonly string[];
  /** A CSV or JSON Lines file, as a path or URI. */
  manifest?: string;
  /** Target format, or several, which share a file's upload; of a manifest: the one of rows that name none. */
  to?: string | readonly string[];
  /** Input format. Default: by the extension. */
  input?: string;
  /** Sent to the service beside the formats; in a manifest: where a row does not say otherwise. */
  parameters?: ConversionParameters;
  /** Folder for the results, which mirror the folders of the sources. Default: beside each source. */
  out?: string;
  /** Default: `{dir}/{name}.{ext}`. */
  template?: string;
  /**
   * Folder for the manifests, results and reports of all batches, which the workers must see too. Default:
   * `.fileconv/batches/`, below `out` if it is in a store, without `out` below the first source that is, else in the current folder.
   */
  runs?: string;
  /** What to do with conversions that an earlier run may have been charged for. Default: `resubmit`. */
  onUnknownOutcome?: OnUnknownOutcome;
  /** Converts those in any case. */
  resubmit?: true;
  /** Converts everything, whatever earlier runs did. */
  again?: true;
  /** Writes nothing. Default: no. */
  dryRun?: boolean;
  signal?: AbortSignal;
}

/** @throws InvalidRequestError */
export async function planRequestedBatch(
  files: FileStore,
  request: BatchPlanRequest,
  { mayBeDone = false } = {},
): Promise<PlannedBatch> {
  checkRequest(planSchema, request, "This batch can't be planned.");
  const {
    name,
    sources = [],
    manifest,
    out,
    runs,
    onUnknownOutcome,
    resubmit,
    again,
    dryRun,
    signal,
    template,
  } = request;
  const what = whatToConvert(request);
  const cwd = currentFolder();
  const folder = (path: string | undefined) => (path === undefined ? undefined : asFolder(spelledUri(path)));
  const batchFolder = batchFolderOf(name, {
    runs: folder(runs),
    out,
    sources: [...sources, manifest],
    home: `${cwd}.fileconv/batches/`,
  });
  // What reads manifests and patterns is loaded for the first plan.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- import() takes the name of the built file, which tests of the sources lack
  const { planBatch } = require('../batch/plan/plan-batch') as typeof PlanModule;
  return planBatch({
    files,
    what,
    cwd,
    out: folder(out),
    batchFolder,
    ...defined({
      onUnknownOutcome: resubmit ? ('resubmit' as const) : onUnknownOutcome,
      again,
      dryRun,
      signal,
      template,
    }),
    mayBeDone,
  });
}

function whatToConvert(request: BatchPlanRequest): PlanModule.PlanBatchOptions['what'] {
  const refusal = (problem: string) => new InvalidRequestError(`This batch can't be planned. ${problem}`);
  const { sources, manifest, to, input, parameters, recursive, exclude, modifiedSince } = request;
  if (manifest === undefined) {
    if (sources === undefined) throw refusal('sources: is missing; name sources, a manifest or items');
    if (to === undefined) throw refusal('to: is missing; name the format of the results, such as pdf');
    return { sources, to, ...defined({ input, parameters, recursive, exclude, modifiedSince }) };
  }
  for (const [field, value] of Object.entries({ sources, recursive, exclude, modifiedSince })) {
    if (value !== undefined) throw refusal(`${field}: is not for a manifest, which names its files itself`);
  }
  if (typeof to === 'object') throw refusal('to: a row of a manifest has one format');
  const uri = spelledUri(manifest);
  return {
    manifest: uri,
    name: shownAsWritten(manifest),
    folder: folderOf(uri),
    ...defined({ to, input, parameters }),
  };
}

function currentFolder(): string {
  return asFolder(uriOfPath(process.cwd()));
}

/** Of a path or a URI, the one spelling of its URI in which batches compare files. */
export function spelledUri(written: string): string {
  return resolveName(written, currentFolder()) ?? toUri(written);
}

const itemSchema = z.strictObject({
  source: fileName,
  output: format,
  input: format.optional(),
  parameters: parametersSchema.optional(),
  destination: fileName.regex(/[^/]$/, 'must be a file, not a folder'),
  onExisting: jobOptions.onExisting,
});

const startSchema = z.strictObject({
  ...jobOptions,
  name: z
    .string()
    .max(200)
    // It is the name of a folder too.
    .regex(/^[^\s/\p{Cc}]([^/\p{Cc}]*[^\s/\p{Cc}])?$/u, 'must be text without slashes, such as invoices-2026'),
  app: text.optional(),
  folder: fileName.optional(),
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
  again: z.literal(true).optional(),
  historyLimit: z.int().positive().optional(),
});

/** Of all inline items: a workflow carries them from run to run, and 2 MB is all that the server takes. */
const maxInlineBytes = 512_000;

const inlineSchema = startSchema.extend({
  items: z
    .array(itemSchema)
    .max(maxInlineItems, `must be at most ${maxInlineItems} when they are inline`)
    .superRefine((items, context) => {
      const bytes = Buffer.byteLength(JSON.stringify(items));
      if (bytes <= maxInlineBytes) return;
      const message = `take ${fileSize(bytes)} together, and Temporal starts nothing with so much: at most ${fileSize(maxInlineBytes)} inline. Write them to a manifest`;
      context.addIssue({ code: 'custom', message });
    }),
});

/** A program's request for a batch that is planned, or of inline items: the workflow's input, with paths in place of URIs. */
export interface BatchRequest extends Omit<ConversionBatchInput, 'app' | 'hidesNames' | 'paysOnce'> {
  /** The batch's name and workflow id. Its jobs are named by their destinations. */
  name: string;
  /** Default: the client's app profile. */
  app?: string;
}

/** @throws InvalidRequestError */
export function toBatchInput(request: BatchRequest, defaultApp: string): ConversionBatchInput {
  checkRequest(Array.isArray(request.items) ? inlineSchema : startSchema, request, "This batch can't be started.");
  const { app = defaultApp, folder, items, uiUrl, ...settings } = request;
  const { window, onExisting, mode, policies, stopAfter, resubmit, again, historyLimit } = settings;
  if ((folder === undefined) === (typeof items === 'number')) {
    throw new InvalidRequestError(
      "This batch can't be started. folder: a number of items has one, inline items have none",
    );
  }
  return {
    app,
    ...(folder !== undefined && { folder: asFolder(spelledUri(folder)) }),
    items: typeof items === 'number' ? items : toInlineItems(items),
    ...defined({ window, onExisting, mode, policies, stopAfter, uiUrl: uiUrl && withoutCredentials(uiUrl) }),
    ...defined({ resubmit, again, historyLimit }),
  };
}

function toInlineItems(items: readonly InlineItem[]): InlineItem[] {
  const inline = items.map(({ source, output, input, parameters, destination, onExisting }) => ({
    ...defined({ source: spelledUri(source), output, input, parameters }),
    destination: spelledUri(destination),
    ...defined({ onExisting }),
  }));
  const repeated = repeatedDestination(inline);
  if (repeated === undefined) return inline;
  throw new InvalidRequestError(`This batch can't be started. ${repeated.field}: ${repeated.problem}`);
}

/** Anyone with access to Temporal can read the workflow's input. */
function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
