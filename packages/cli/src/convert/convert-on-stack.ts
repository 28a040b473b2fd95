import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import type { ConversionRequest } from 'temporal-file-conversion/internal/client/job-request';
import { ConversionApiError } from 'temporal-file-conversion/internal/http/errors';
import type {
  ConversionMode,
  ConversionParameters,
  OnExisting,
  OnUnknownOutcome,
} from 'temporal-file-conversion/internal/shared/job';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import type { CommandContext } from '../command-context';
import { interrupted, type ExitCode } from '../command-error';
import { chosenPolicies } from '../config/load-config';
import { isEmbedded, openApi } from '../service/app-profiles';
import { embeddedServiceUrl } from '../service/embedded-service';
import { explainServiceFailure, explainSilence } from '../service/service-problem';
import { configuredStores } from '../stores';
import { useStack } from '../stack/use-stack';
import type { Stall } from '../waiting/stall';
import type { PlannedResult } from './plan';
import { announce, report, type FileOutcome } from './report';
import { runBatch } from './run-batch';
import { runJob } from './run-job';

export interface ConvertFlags {
  to: string[];
  from?: string;
  param?: ConversionParameters;
  out?: string;
  onExisting?: OnExisting;
  onUnknownOutcome?: OnUnknownOutcome;
  mode?: ConversionMode;
  tag?: string[];
  app?: string;
  parallel: number;
  recursive?: boolean;
  exclude: string[];
  resubmit?: true;
  again?: true;
}

/** The flags of `convert`, completed from the configuration. */
interface ConvertSettings extends ConvertFlags {
  app: string;
  onExisting: OnExisting;
  /** The place of a result that is to be written to standard output. */
  pipedFrom?: string;
  /** Of several results those that are there, though none may be. */
  existing?: readonly string[];
  /** The command line that does the same for more files. */
  asBatchRun?: string;
  signal: AbortSignal;
}

export async function convertOnStack(
  context: CommandContext,
  planned: readonly PlannedResult[],
  settings: ConvertSettings,
): Promise<{ exitCode: ExitCode; outcomes: FileOutcome[] }> {
  const { output, config } = context;
  const {
    to: formats,
    app,
    onUnknownOutcome,
    resubmit,
    again,
    tag: tags = [],
    pipedFrom,
    existing = [],
    signal,
  } = settings;
  const stack = await useStack(context, signal);
  try {
    if (isEmbedded(context, app) && stack.outlivesCommand) {
      await proveReachable(context, { app, to: formats[0] ?? '', signal });
    }
    if (signal.aborted) throw interrupted(signal.reason);
    const { client: temporal, taskQueue, outlivesCommand } = stack;
    const stores = configuredStores(context);
    const conversions = new FileConversionClient({ client: temporal, taskQueue, app, stores });
    const asked = { ...settings, tags, policies: chosenPolicies(config, defined({ onUnknownOutcome })) };
    const onOutcome = (outcome: FileOutcome, done: number): void =>
      announce(context, outcome, { done, total: planned.length, isPiped: pipedFrom !== undefined });
    const ending = (ended: { batch?: string; stall?: Stall }) => ({
      interrupted: signal.aborted,
      outlivesCommand,
      pipedFrom,
      batch: ended.batch,
      stall: ended.stall,
    });
    const [only, ...others] = planned;
    if (!only || others.length > 0) {
      const { asBatchRun = 'fileconv batch run' } = settings;
      const options = { stack, conversions, asked, existing, asBatchRun, onOutcome, signal };
      const ended = await runBatch(context, planned, options);
      return { exitCode: report(output, ended.outcomes, ending(ended)), outcomes: ended.outcomes };
    }
    const start = (request: ConversionRequest) => conversions.start(request, defined({ tags, again, resubmit }));
    const { outcome, ...ended } = await stack.untilClosed(() => runJob(context, only, { start, stack, asked, signal }));
    if (outcome.status !== 'unfinished') onOutcome(outcome, 1);
    return { exitCode: report(output, [outcome], ending(ended)), outcomes: [outcome] };
  } finally {
    await stack.close();
  }
}

/** Asks the embedded service once, so that one that is down or refuses the token is noticed before a job waits for it. */
async function proveReachable(
  context: CommandContext,
  { app, to, signal }: { app: string; to: string; signal: AbortSignal },
): Promise<void> {
  if ((await embeddedServiceUrl(context)) === undefined) return;
  const { api, baseUrl } = await openApi(context, app);
  try {
    await api.format({ format: to, signal });
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained) throw explained;
    const silence = explainSilence(error, { app, baseUrl });
    if (silence !== undefined) context.output.warn(silence);
  } finally {
    await api.close();
  }
}
