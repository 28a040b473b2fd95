import { ConversionFailedError, FileConversionClient, JobRunningError, toUri } from 'temporal-file-conversion/client';
import {
  type ConversionJobResult,
  type ConversionMode,
  type ConversionParameters,
  defined,
  type OnExisting,
  type OutputFile,
} from 'temporal-file-conversion/job';
import { printable } from 'temporal-file-conversion/messages';
import { shownPath as pathOf } from 'temporal-file-conversion/storage';
import type { CommandContext } from '../command-context';
import { chosenPolicies, type PolicyFlags } from '../config/load-config';
import type { StackInUse } from '../stack/connect';
import { configuredStores } from '../stores';
import { awaitJob } from './await-job';
import { pathFromHere, type PlannedResult } from './plan';

export interface ConvertFlags extends PolicyFlags {
  from?: string;
  param?: ConversionParameters;
  out?: string;
  onExisting?: OnExisting;
  mode?: ConversionMode;
  tag?: string[];
  app?: string;
  resubmit?: true;
  again?: true;
}

/** The flags of `convert`, completed from the configuration. */
export interface ConvertSettings extends ConvertFlags {
  app: string;
  onExisting: OnExisting;
  /** The path of a result that will be written to standard output. */
  pipedFrom?: string;
  signal: AbortSignal;
}

/** The outcome for a file: the document of `--json`. */
export interface FileOutcome {
  file: string;
  to: string;
  /** `suspect`: the result failed its check and is kept as `output`; `unfinished`: the command was interrupted, the job goes on. */
  status: 'converted' | 'skipped' | 'failed' | 'suspect' | 'unfinished';
  workflowId?: string;
  /** An earlier command started the job. */
  joined?: true;
  output?: OutputFile & { path: string };
  /** Time until the end of the job, or of the command. */
  seconds: number;
  possiblyChargedTwice?: boolean;
  possiblyChargedExtra?: number;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  error?: { code: string; message: string };
}

/** Starts or joins the job of a single result, and waits for it. */
export async function runJob(
  context: CommandContext,
  planned: PlannedResult,
  { stack, settings }: { stack: StackInUse; settings: ConvertSettings },
): Promise<FileOutcome> {
  const { input, to, destination } = planned;
  const { file } = input;
  const { app, from, param, onExisting, mode, tag: tags, again, resubmit, signal } = settings;
  const { client, taskQueue } = stack;
  const startedAt = Date.now();
  let started: { workflowId?: string; joined?: true } = {};
  const outcomeOf = (ended: Omit<FileOutcome, 'file' | 'to' | 'seconds'>): FileOutcome => {
    return { file, to, ...started, seconds: (Date.now() - startedAt) / 1_000, ...ended };
  };
  try {
    const request = {
      source: input.location,
      output: to,
      destination,
      ...defined({ input: from, parameters: param, mode }),
      onExisting,
      ...chosenPolicies(context.config, settings),
    };
    const conversions = new FileConversionClient({ client, taskQueue, app, stores: configuredStores(context) });
    const start = () => conversions.start(request, defined({ tags, again, resubmit }));
    const { workflowId, isAttached } = await stack.untilClosed(start);
    started = { workflowId, ...(isAttached && { joined: true }) };
    if (isAttached) {
      context.output.say(printable(`${file}: job ${workflowId} is already converting it; waiting for that job.`));
    }
    const result = await awaitJob(context, { workflowId, file, to, stack, signal });
    return outcomeOf(result ? successOf(result) : { status: 'unfinished' });
  } catch (error) {
    if (!(error instanceof ConversionFailedError || error instanceof JobRunningError)) throw error;
    const suspect = error instanceof ConversionFailedError ? error.details?.output : undefined;
    const ended = suspect ? { status: 'suspect' as const, ...placed(suspect) } : { status: 'failed' as const };
    return outcomeOf({ ...ended, error: explainFailure(error, planned, { cwd: context.cwd, place: suspect?.uri }) });
  }
}

function successOf({ status, output, possiblyChargedTwice, possiblyChargedExtra, warnings }: ConversionJobResult) {
  return {
    status: status === 'skipped' ? ('skipped' as const) : ('converted' as const),
    ...(output && placed(output)),
    possiblyChargedTwice,
    ...defined({ possiblyChargedExtra }),
    warnings,
  };
}

function placed(output: OutputFile) {
  return { output: { ...output, path: pathOf(output.uri) } };
}

/** Explains a failure with paths instead of URIs, as typed. `place`: URI of a result that is not at its destination. */
export function explainFailure(
  { code, message }: { code: string; message: string },
  { input, to, destination }: PlannedResult,
  { cwd, place = toUri(destination) }: { cwd: string; place?: string | undefined },
): NonNullable<FileOutcome['error']> {
  const ownSummary = /^.*? → \S+: /u;
  const text = message
    .replace(ownSummary, '')
    .replaceAll(toUri(input.location), () => input.file)
    .replaceAll(place, () => pathFromHere(pathOf(place), cwd));
  return { code, message: `${input.file} → ${to}: ${text}` };
}
