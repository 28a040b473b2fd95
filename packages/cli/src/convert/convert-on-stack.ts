import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import { ConversionApiError } from 'temporal-file-conversion/internal/http/errors';
import type {
  ConversionMode,
  ConversionParameters,
  OnExisting,
  OnUnknownOutcome,
} from 'temporal-file-conversion/internal/shared/job';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { Stores } from 'temporal-file-conversion/internal/storage/stores';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../command-error';
import { chosenPolicies } from '../config/load-config';
import { isEmbedded, openApi } from '../service/app-profiles';
import { embeddedServiceUrl } from '../service/embedded-service';
import { explainServiceFailure, explainSilence } from '../service/service-problem';
import { configuredStores } from '../stores';
import { useStack } from '../stack/use-stack';
import { createStallReader, type Stall, StallNews, type StallReader } from '../waiting/stall';
import type { PlannedResult } from './plan';
import { announce, report, showProgress, type FileOutcome } from './report';
import { runJobs } from './run-jobs';
import { startOrJoin } from './start-or-join';

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
}

/** The flags of `convert`, completed from the configuration. */
interface ConvertSettings extends ConvertFlags {
  app: string;
  onExisting: OnExisting;
  /** The place of a result that is to be written to standard output. */
  pipedFrom?: string;
  signal: AbortSignal;
}

export async function convertOnStack(
  context: CommandContext,
  planned: readonly PlannedResult[],
  settings: ConvertSettings,
): Promise<{ exitCode: ExitCode; outcomes: FileOutcome[] }> {
  const { output, config, cwd } = context;
  const { to: formats, app, onUnknownOutcome, tag: tags = [], pipedFrom, signal } = settings;
  const stack = await useStack(context, signal);
  try {
    if (isEmbedded(context, app) && stack.outlivesCommand) {
      await proveReachable(context, { app, to: formats[0] ?? '', signal });
    }
    const starting = {
      files: new Stores(configuredStores(context)),
      temporal: stack.client,
      conversions: new FileConversionClient({ client: stack.client, taskQueue: stack.taskQueue, app }),
      app,
      tags,
    };
    const asked = { ...settings, policies: chosenPolicies(config, defined({ onUnknownOutcome })) };
    const total = planned.length;
    const progress = showProgress(output, total);
    const inFlight = new Map<string, string>();
    const news = new StallNews({
      output,
      explain: () => explainOldest(createStallReader(context, stack.client), inFlight),
    });
    const outcomes = await runJobs(planned, {
      ...asked,
      start: (request) => startOrJoin(starting, request),
      untilClosed: (run) => stack.untilClosed(run),
      cwd,
      progress,
      inFlight,
      onJoined({ file, workflowId }) {
        output.say(printable(`${file}: job ${workflowId} converts it already; waiting for that one.`));
      },
      onOutcome(outcome, done) {
        news.moved();
        announce(context, outcome, { done, total, isPiped: pipedFrom !== undefined });
      },
    }).finally(() => {
      news.close();
      progress.close();
    });
    const { outlivesCommand } = stack;
    const ending = { interrupted: signal.aborted, outlivesCommand, pipedFrom, stall: news.last };
    return { exitCode: report(output, outcomes, ending), outcomes };
  } finally {
    await stack.close();
  }
}

/** What the oldest job waits for; others may wait for the same. */
async function explainOldest(
  reader: StallReader,
  inFlight: ReadonlyMap<string, string>,
): Promise<{ who: string; stall: Stall } | undefined> {
  const [oldest] = inFlight;
  if (!oldest) return undefined;
  const [workflowId, file] = oldest;
  const others = inFlight.size - 1;
  const { stall } = await reader.job(workflowId);
  return stall && { who: others === 0 ? file : `${file} (and ${others} more under way)`, stall };
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
