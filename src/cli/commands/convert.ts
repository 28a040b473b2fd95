import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConversionApi } from '../../api/client';
import { ConversionFailedError } from '../../client/conversion-handle';
import type { ConversionHandle } from '../../client/conversion-handle';
import { FileConversionClient } from '../../client/file-conversion-client';
import type { ConversionJobResult } from '../../shared/job';
import { appProfile } from '../app-profiles';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { chosenPolicies } from '../job-policies';
import type { ConvertFlags } from '../program';
import { aborted, untilAskedToEnd } from '../stack/parent-process';
import type { StackInUse } from '../stack/use-stack';
import { useStack } from '../stack/use-stack';
import { fileSize } from '../table';
import type { ConvertInput } from './convert-inputs';
import { checkInputs, planDestinations } from './convert-inputs';
import { currentStep } from './job-watch';
import { checkService } from './service-check';

/** How one file ended. */
interface FileOutcome {
  file: string;
  status: 'converted' | 'skipped' | 'failed' | 'unfinished';
  workflowId?: string;
  output?: ConversionJobResult['output'];
  seconds: number;
  possiblyChargedTwice?: boolean;
  warnings?: Record<string, string>;
  error?: { code: string; message: string };
}

const refreshMs = 300;

/** `fileconv convert`: one durable job a file. Exit code 0 only when every file was converted, or skipped on request. */
export async function convert(
  context: CommandContext,
  files: readonly string[],
  flags: ConvertFlags,
): Promise<ExitCode> {
  const { output, config, cwd } = context;
  const app = flags.app ?? config.values.defaultApp;
  const inputs = await checkInputs(files, cwd);
  const signal = untilAskedToEnd();
  const stack = await useStack(context, signal);
  try {
    const extension = await checkWithService(context, { app, flags, inputs, stack });
    const outDir = flags.out === undefined ? undefined : path.resolve(cwd, flags.out);
    const destinations = planDestinations(inputs, { outDir, extension });
    const client = new FileConversionClient({ client: stack.client, taskQueue: stack.taskQueue, app });
    const outcomes = await runJobs(context, { client, destinations, flags, signal });
    report(context, outcomes, stack);
    if (signal.aborted) return exitCodes.interrupted;
    const good = outcomes.every(({ status }) => status === 'converted' || status === 'skipped');
    return good ? exitCodes.ok : exitCodes.failed;
  } finally {
    await stack.close();
  }

  async function checkWithService(
    commandContext: CommandContext,
    what: { app: string; flags: ConvertFlags; inputs: readonly ConvertInput[]; stack: StackInUse },
  ): Promise<string> {
    const profile = await appProfile(commandContext, what.app, what.stack.serviceUrl);
    const token = typeof profile.token === 'function' ? await profile.token() : profile.token;
    const api = createConversionApi({ baseUrl: profile.baseUrl, appId: profile.appId, token });
    try {
      const formats = what.inputs.map((input) => what.flags.from ?? input.extension);
      const check = { app: what.app, baseUrl: profile.baseUrl, output: what.flags.to, inputs: formats };
      return await checkService(api, check, output);
    } finally {
      await api.close();
    }
  }
}

interface JobPlan {
  client: FileConversionClient;
  destinations: ReadonlyMap<ConvertInput, string>;
  flags: ConvertFlags;
  signal: AbortSignal;
}

/** Keeps as many jobs in flight as asked for, and shows what each one does. */
async function runJobs(context: CommandContext, plan: JobPlan): Promise<FileOutcome[]> {
  const { output } = context;
  const waiting = [...plan.destinations.keys()];
  const inFlight = new Map<ConvertInput, { startedAt: number; handle?: ConversionHandle }>();
  const outcomes: FileOutcome[] = [];
  const total = waiting.length;
  const interrupted = aborted(plan.signal);

  async function lane(): Promise<void> {
    for (let input = waiting.shift(); input && !plan.signal.aborted; input = waiting.shift()) {
      const job: { startedAt: number; handle?: ConversionHandle } = { startedAt: Date.now() };
      inFlight.set(input, job);
      const outcome = await runJob(context, plan, input, job, interrupted);
      inFlight.delete(input);
      outcomes.push(outcome);
      announce(context, outcome, { done: outcomes.length, total });
    }
  }
  const lanes = Array.from({ length: Math.min(plan.flags.parallel, total) }, lane);
  const finished = Promise.all(lanes).then(() => 'finished' as const);
  while (output.isLive && (await Promise.race([finished, sleep(refreshMs, 'showing' as const)])) === 'showing') {
    const lines = await Promise.all(
      [...inFlight].slice(0, 10).map(async ([input, { handle, startedAt }]) => {
        const step = handle ? await currentStep(handle).catch(() => 'waiting') : 'starting';
        return `  ${output.colors.dim(seconds(startedAt))}  ${input.file} → ${plan.flags.to}  ${output.colors.cyan(step)}`;
      }),
    );
    output.live([...lines, `  ${outcomes.length} of ${total} done`]);
  }
  await finished;
  output.live([]);
  return outcomes;
}

async function runJob(
  context: CommandContext,
  { client, destinations, flags }: JobPlan,
  input: ConvertInput,
  job: { startedAt: number; handle?: ConversionHandle },
  interrupted: Promise<void>,
): Promise<FileOutcome> {
  const { onExisting } = context.config.values.policies;
  const { onUnknownOutcome } = flags;
  const policies = chosenPolicies(context.config, onUnknownOutcome === undefined ? {} : { onUnknownOutcome });
  const base = { file: input.file };
  try {
    job.handle = await client.start({
      source: input.path,
      output: flags.to,
      ...(flags.from !== undefined && { input: flags.from }),
      destination: destinations.get(input) ?? '',
      onExisting: flags.onExisting ?? onExisting,
      ...(Object.keys(policies).length > 0 && { policies }),
    });
    const { workflowId } = job.handle;
    const result = await Promise.race([job.handle.result(), interrupted]);
    const elapsed = { workflowId, seconds: (Date.now() - job.startedAt) / 1_000 };
    if (!result) return { ...base, ...elapsed, status: 'unfinished' };
    return {
      ...base,
      ...elapsed,
      status: result.status === 'skipped' ? 'skipped' : 'converted',
      ...(result.output && { output: result.output }),
      possiblyChargedTwice: result.possiblyChargedTwice,
      warnings: result.warnings,
    };
  } catch (error) {
    const code = error instanceof ConversionFailedError ? error.code : 'NOT_STARTED';
    const message = error instanceof Error ? error.message : String(error);
    return {
      ...base,
      ...(job.handle && { workflowId: job.handle.workflowId }),
      status: 'failed',
      seconds: (Date.now() - job.startedAt) / 1_000,
      error: { code, message },
    };
  }
}

function announce({ output }: CommandContext, outcome: FileOutcome, progress: { done: number; total: number }): void {
  if (output.json) return;
  const { colors } = output;
  const count = progress.total === 1 ? '' : colors.dim(`[${progress.done}/${progress.total}] `);
  switch (outcome.status) {
    case 'converted': {
      const { uri, bytes } = outcome.output ?? { uri: '', bytes: 0 };
      const shown = uri === '' ? '' : path.relative(process.cwd(), new URL(uri).pathname);
      output.print(
        `${count}${outcome.file} → ${decodeURIComponent(shown)} (${fileSize(bytes)}, ${outcome.seconds.toFixed(1)} s)`,
      );
      for (const [name, advice] of Object.entries(outcome.warnings ?? {}))
        output.warn(`${outcome.file}: ${name}: ${advice}`);
      if (outcome.possiblyChargedTwice)
        output.warn(`${outcome.file}: the service may have charged this conversion twice.`);
      break;
    }
    case 'skipped':
      output.print(`${count}${outcome.file} skipped: its result exists`);
      break;
    case 'failed':
      output.fail(outcome.error?.message ?? outcome.file);
      break;
    case 'unfinished':
      break;
  }
}

function report({ output }: CommandContext, outcomes: readonly FileOutcome[], stack: StackInUse): void {
  if (output.json) output.printJson({ files: outcomes });
  const unfinished = outcomes.filter(({ status }) => status === 'unfinished').length;
  const failed = outcomes.filter(({ status }) => status === 'failed').length;
  if (unfinished > 0) {
    const next = stack.outlivesCommand ? 'They go on without this command' : 'They go on with the next `fileconv up`';
    output.say(`${unfinished} not finished. ${next}; their results will be where you asked for them.`);
  }
  if (failed > 0 && outcomes.length > 1) output.say(`${failed} of ${outcomes.length} failed.`);
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1_000).toFixed(0).padStart(3)} s`;
}
