import { z } from 'zod';
import { planDry } from '../batch/plan/dry-plan';
import type { PlannedBatch } from '../batch/plan/planned-batch';
import { asFolder, batchFolderOf, folderOf, resolveName, shownAsWritten, uriOfPath } from '../batch/uris';
import {
  type BatchPlan,
  type BatchSources,
  type ConversionBatchInput,
  type InlineItem,
  maxWindow,
} from '../batch/model/types';
import { defined } from '../job/defined';
import { problemOfInline } from '../batch/model/inline-items';
import { isNoticeUrl, noticeUrlProblem } from '../batch/model/notices';
import type { ConversionParameters } from '../job/parameters';
import { defaultPolicies, unconvertibleChoices, type Unconvertible } from '../job/policies';
import type { FileStore } from '../storage/file-store';
import {
  checkRequest,
  formatLike,
  InvalidRequestError,
  jobOptions,
  fileName,
  parametersSchema,
  splitRequest,
  nonEmptyText,
  toUri,
} from './job-request';

const format = formatLike('pdf');
/** The part of a batch request that only concerns its plan. */
export const planSchema = z.strictObject({
  sources: z.array(nonEmptyText).min(1).optional(),
  manifest: fileName.optional(),
  to: z.union([format, z.array(format).min(1)], 'must be a format name such as pdf, or a list of them').optional(),
  input: format.optional(),
  parameters: parametersSchema.optional(),
  out: fileName.optional(),
  recursive: z.boolean().optional(),
  exclude: z.array(nonEmptyText).optional(),
  modifiedSince: z.number().optional(),
  template: nonEmptyText.optional(),
  unconvertible: z.enum(unconvertibleChoices).optional(),
  runs: fileName.optional(),
});

/** Which files a batch converts, and where to. Paths are relative to the current folder, and the workers must see them. */
export interface PlanRequest extends Omit<BatchSources, 'sources' | 'to' | 'filesFrom'> {
  /** Files, folders or patterns such as `in/*.docx`, each as a path or URI. Alternatives: `manifest`, `items`. */
  sources?: readonly string[];
  /** A CSV or JSON Lines file, as a path or URI. */
  manifest?: string;
  /** Target format, or several, which share a file's upload. For a manifest: the default format of its rows. */
  to?: string | readonly string[];
  /** Input format. Default: by the extension. */
  input?: string;
  /** Further parameters for the service. For a manifest: the defaults of its rows. */
  parameters?: ConversionParameters;
  /** Folder for the results, which mirrors the source folders. Default: beside each source. */
  out?: string;
  /** Default: `{dir}/{name}.{ext}`. */
  template?: string;
  /** How to handle files that the service is known not to convert. Default: `fail`. */
  unconvertible?: Unconvertible;
  /**
   * Folder for the ledgers, results and reports of all batches, which the workers must see too. Default: `.fileconv/batches/`, below
   * `out` if that is in a store; without `out`, below the first source that is; else in the current folder.
   */
  runs?: string;
}

/** A program's request for a batch: the workflow's input, with paths allowed in place of URIs. */
export interface BatchRequest extends Omit<ConversionBatchInput, 'app' | 'plan' | 'isScheduled'>, PlanRequest {
  /** Name and workflow id. Starting the same name again converts what is new or changed. Jobs are named by their destinations. */
  name: string;
  /** Default: the client's app profile. */
  app?: string;
}

/** @throws InvalidRequestError */
function toPlan(name: string, request: PlanRequest): BatchPlan {
  const { sources = [], manifest, out, runs, template, unconvertible } = request;
  const cwd = currentFolder();
  const folder = (path: string | undefined) => (path === undefined ? undefined : asFolder(spelledUri(path)));
  return {
    folder: batchFolderOf(name, {
      runs: folder(runs),
      out,
      sources: [...sources, manifest],
      home: `${cwd}.fileconv/batches/`,
    }),
    what: whatToConvert(request),
    cwd,
    // A program asks for the results of all rows, including those done before.
    mayBeDone: true,
    ...defined({ out: folder(out), template, unconvertible }),
  };
}

function whatToConvert(request: PlanRequest): BatchPlan['what'] {
  const refusal = (problem: string) => new InvalidRequestError(`This batch can't be started. ${problem}`);
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

/**
 * Plans a batch exactly as the batch itself would, but writes nothing.
 * @throws InvalidRequestError
 */
export async function planRequested(
  files: FileStore,
  request: BatchRequest,
  { app, signal }: { app: string; signal?: AbortSignal | undefined },
): Promise<PlannedBatch> {
  const { plan, again, resubmit, policies } = toBatchInput(request, app);
  if (!plan || plan.what === 'last') throw new InvalidRequestError('items: there is nothing to plan');
  const { onUnknownOutcome: asked = defaultPolicies.onUnknownOutcome } = policies ?? {};
  return planDry({ ...plan, files, onUnknownOutcome: resubmit ? 'resubmit' : asked, again, signal });
}

function currentFolder(): string {
  return asFolder(uriOfPath(process.cwd()));
}

/** The canonical URI of a path or URI, by which batches compare files. */
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
    // The name also names a folder.
    .regex(
      /^[^\s/\p{Cc}\p{Cs}]([^/\p{Cc}\p{Cs}]*[^\s/\p{Cc}\p{Cs}])?$/u,
      'must be text without slashes, such as invoices-2026',
    ),
  app: nonEmptyText.optional(),
  window: z.int().min(1).max(maxWindow).optional(),
  stopAfter: z
    .strictObject({
      failures: z.int().positive().optional(),
      percent: z.number().positive().max(100).optional(),
    })
    .optional(),
  maxVcredits: z.number().positive().optional(),
  uiUrl: z.url({ protocol: /^https?$/ }).optional(),
  notify: z.string().refine(isNoticeUrl, noticeUrlProblem).optional(),
  resubmit: z.literal(true).optional(),
  again: z.literal(true).optional(),
  historyLimit: z.int().positive().optional(),
});

const requestSchema = z.strictObject({
  ...startSchema.shape,
  ...planSchema.shape,
  items: z.array(itemSchema).optional(),
});

/** The part of a batch request that does not concern its plan. */
export type BatchSettings = Omit<BatchRequest, keyof PlanRequest | 'items'>;

/** @throws InvalidRequestError */
export function toBatchInput(request: BatchRequest, defaultApp: string): ConversionBatchInput {
  checkRequest(requestSchema, request, "This batch can't be started.");
  const { own: planned, rest } = splitRequest(request, planSchema);
  const { items, name } = request;
  if (!items) return { ...toSettings(rest, defaultApp), plan: toPlan(name, planned) };
  const [field] = Object.keys(planned);
  if (field !== undefined)
    throw new InvalidRequestError(`This batch can't be started. ${field}: is not for inline items`);
  return { ...toSettings(rest, defaultApp), items: toInlineItems(items) };
}

/** The input except for plan and items. @throws InvalidRequestError */
export function toSettings(request: BatchSettings, defaultApp: string): Omit<ConversionBatchInput, 'plan' | 'items'> {
  const { app = defaultApp, uiUrl, ...settings } = request;
  return { app, ...defined({ ...settings, name: undefined, uiUrl: uiUrl && withoutCredentials(uiUrl) }) };
}

export function checkSettings(request: BatchSettings, what: string): void {
  checkRequest(startSchema, request, what);
}

function toInlineItems(items: readonly InlineItem[]): InlineItem[] {
  const inline = items.map(({ source, output, input, parameters, destination, onExisting }) => ({
    ...defined({ source: spelledUri(source), output, input, parameters }),
    destination: spelledUri(destination),
    ...defined({ onExisting }),
  }));
  const found = problemOfInline(inline);
  if (!found) return inline;
  throw new InvalidRequestError(`This batch can't be started. ${found.field}: ${found.problem}`);
}

/** Anyone with access to Temporal can read the workflow's input. */
function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
