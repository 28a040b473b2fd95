import { z } from 'zod';
import { batchFolderOf } from '../batch/batch-folder';
import type * as PlanModule from '../batch/plan/plan-batch';
import type { PlannedBatch } from '../batch/plan/planned-batch';
import { asFolder, folderOf, uriOfPath } from '../batch/uris';
import { defined } from '../shared/defined';
import { isFormatName } from '../shared/format-name';
import { onUnknownOutcomeChoices, type OnUnknownOutcome } from '../shared/policies';
import type { ConversionParameters } from '../shared/parameters';
import type { FileStore } from '../storage/file-store';
import { checkRequest, InvalidRequestError, parametersSchema, toUri } from './job-request';

const text = z.string().min(1);
const format = z.string().refine(isFormatName, 'must be a format name such as pdf');
/** Of a batch's request, what is about its plan alone. */
const selectionSchema = z.strictObject({
  sources: z.array(text).min(1).optional(),
  manifest: text.optional(),
  to: z.union([format, z.array(format).min(1)], 'must be a format name such as pdf, or a list of them').optional(),
  input: format.optional(),
  parameters: parametersSchema.optional(),
  out: text.optional(),
  recursive: z.boolean().optional(),
  exclude: z.array(text).optional(),
  modifiedSince: z.number().optional(),
  template: text.optional(),
  runs: text.optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
const requestSchema = selectionSchema.extend({
  name: text,
  onUnknownOutcome: z.enum(onUnknownOutcomeChoices).optional(),
  resubmit: z.literal(true).optional(),
  dryRun: z.boolean().optional(),
});

/** Which files a batch converts, and where to. Paths start from the current folder. */
export interface BatchPlanRequest {
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
  /** Also search the folders of folders. Default: no. */
  recursive?: boolean;
  exclude?: readonly string[];
  /** Only files changed since then, in milliseconds since the epoch. */
  modifiedSince?: number;
  /** Default: `{dir}/{name}.{ext}`. */
  template?: string;
  /**
   * Folder for the manifests, results and reports of all batches, which the workers must see too. Default:
   * `.fileconv/batches/`, below what the batch names first that is in a store, else in the current folder.
   */
  runs?: string;
  /** What to do with conversions that an earlier run may have been charged for. Default: `resubmit`. */
  onUnknownOutcome?: OnUnknownOutcome;
  /** Converts those in any case. */
  resubmit?: true;
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
  checkRequest(requestSchema, request, "This batch can't be planned.");
  assertOneChoice(request);
  const { name, out, runs, onUnknownOutcome, resubmit, dryRun, signal, template } = request;
  const cwd = asFolder(uriOfPath(process.cwd()));
  const { sources = [], manifest } = request;
  const batchFolder = batchFolderOf(name, {
    runs: runs === undefined ? undefined : asFolder(toUri(runs)),
    among: [out, ...sources, manifest],
    home: `${cwd}.fileconv/batches/`,
  });
  return loadPlanner().planBatch({
    files,
    what: whatToConvert(request),
    cwd,
    out: out === undefined ? undefined : asFolder(toUri(out)),
    batchFolder,
    ...defined({ onUnknownOutcome, resubmit, dryRun, signal, template }),
    mayBeDone,
  });
}

function refusal(problem: string): InvalidRequestError {
  return new InvalidRequestError(`This batch can't be planned. ${problem}`);
}

function assertOneChoice(request: BatchPlanRequest): void {
  const { sources, manifest, to } = request;
  if (manifest === undefined) {
    if (sources === undefined) throw refusal('sources: is missing; name sources, a manifest or items');
    if (to === undefined) throw refusal('to: is missing; name the format of the results, such as pdf');
    return;
  }
  for (const field of ['sources', 'recursive', 'exclude', 'modifiedSince'] as const) {
    if (request[field] !== undefined) throw refusal(`${field}: is not for a manifest, which names its files itself`);
  }
}

function whatToConvert(request: BatchPlanRequest): PlanModule.PlanBatchOptions['what'] {
  const { sources = [], manifest, to, input, parameters, recursive, exclude, modifiedSince } = request;
  if (manifest !== undefined) {
    if (typeof to === 'object') throw refusal('to: a row of a manifest has one format');
    const uri = toUri(manifest);
    return { manifest: uri, name: manifest, folder: folderOf(uri), ...defined({ to, input, parameters }) };
  }
  return { sources, to: to ?? [], ...defined({ input, parameters, recursive, exclude, modifiedSince }) };
}

type Selection = Omit<BatchPlanRequest, 'name' | 'onUnknownOutcome' | 'resubmit' | 'dryRun'>;

/** What a request says about its plan, and the rest of it. */
export function splitRequest<Request extends Selection>(request: Request) {
  const isSelection = ([field]: [string, unknown]) => field in selectionSchema.shape;
  const fields = Object.entries(request);
  return {
    selection: Object.fromEntries(fields.filter(isSelection)) as Selection,
    settings: Object.fromEntries(fields.filter((field) => !isSelection(field))) as Omit<Request, keyof Selection>,
  };
}

/** What reads manifests and patterns is loaded for the first plan. */
function loadPlanner(): typeof PlanModule {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- import() takes the name of the built file, which tests of the sources lack
  return require('../batch/plan/plan-batch') as typeof PlanModule;
}
