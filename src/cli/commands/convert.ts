import { ConversionApiError } from '../../api/errors';
import { FileConversionClient } from '../../client/file-conversion-client';
import type { OnExisting, OnUnknownOutcome } from '../../shared/job';
import { chooseTemporal } from '../../temporal-server/choose-temporal';
import { isEmbedded, openApi } from '../app-profiles';
import type { CommandContext } from '../command-context';
import { planJobs } from '../convert/destinations';
import type { WantedFormats } from '../convert/formats-check';
import { checkFormats } from '../convert/formats-check';
import { checkInputs } from '../convert/inputs';
import { showProgress } from '../convert/progress';
import { announce, report } from '../convert/report';
import { runJobs } from '../convert/run-jobs';
import type { ExitCode } from '../exit';
import { embeddedFormats } from '../formats/embedded-formats';
import { extensionFromName } from '../formats/format-lookup';
import { serviceFormats } from '../formats/service-formats';
import { chosenPolicies } from '../job-policies';
import { explainServiceFailure } from '../service-problem';
import { untilAskedToEnd } from '../stack/parent-process';
import { useStack } from '../stack/use-stack';

/** Options of `convert`, as they are typed. */
export interface ConvertFlags {
  to: string;
  from?: string;
  out?: string;
  onExisting?: OnExisting;
  onUnknownOutcome?: OnUnknownOutcome;
  app?: string;
  parallel: number;
}

/** `fileconv convert`: one durable job a file. Exit code 0 only when every file was converted, or skipped on request. */
export async function convert(
  context: CommandContext,
  files: readonly string[],
  flags: ConvertFlags,
): Promise<ExitCode> {
  const { output, config, cwd, env } = context;
  const { to, from, out, parallel, onUnknownOutcome } = flags;
  const app = flags.app ?? config.values.defaultApp;
  const onExisting = flags.onExisting ?? config.values.policies.onExisting;
  const inputs = await checkInputs(files, cwd);
  const extension = await settleFormats(context, app, { inputs, from, to });
  const writtenByUs = chooseTemporal(env, config.values.temporal).kind === 'local';
  const jobs = await planJobs(inputs, { cwd, out, extension, onExisting, writtenByUs });
  const signal = untilAskedToEnd();
  const stack = await useStack(context, signal);
  try {
    if (isEmbedded(context, app) && stack.outlivesCommand)
      await proveReachable(context, app, { to, url: stack.serviceUrl });
    const progress = showProgress(output, jobs.length);
    const outcomes = await runJobs(jobs, {
      client: new FileConversionClient({ client: stack.client, taskQueue: stack.taskQueue, app }),
      to,
      from,
      onExisting,
      policies: chosenPolicies(config, onUnknownOutcome === undefined ? {} : { onUnknownOutcome }),
      parallel,
      cwd,
      progress,
      onOutcome: (outcome, done) => announce(context, outcome, { done, total: jobs.length }),
      signal,
    }).finally(() => progress.close());
    return report(output, outcomes, { interrupted: signal.aborted, outlivesCommand: stack.outlivesCommand });
  } finally {
    await stack.close();
  }
}

/** The extension of the results; the embedded service is known without asking it, any other one is asked. */
async function settleFormats(context: CommandContext, app: string, wanted: WantedFormats): Promise<string> {
  if (isEmbedded(context, app)) return checkFormats(embeddedFormats(), wanted);
  const { api, baseUrl } = await openApi(context, app);
  try {
    return await checkFormats(serviceFormats(api), wanted);
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained) throw explained;
    // A busy service, or one without these endpoints: the jobs will find out for themselves.
    context.output.warn(`The formats could not be checked beforehand: ${error.message}`);
    return extensionFromName(wanted.to);
  } finally {
    await api.close();
  }
}

/** One request tells a service that is down, or does not know us, before a job waits for it. */
async function proveReachable(
  context: CommandContext,
  app: string,
  { to, url }: { to: string; url: string },
): Promise<void> {
  const { api, baseUrl } = await openApi(context, app, url);
  try {
    await api.format({ format: to });
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained) throw explained;
  } finally {
    await api.close();
  }
}
