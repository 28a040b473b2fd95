import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Table from 'cli-table3';
import type { ConversionHandle } from '../client/conversion-handle';
import { FileConversionClient } from '../client/file-conversion-client';
import { embeddedApp } from '../config';
import type { OutputFile } from '../shared/job';
import { currentStep } from './commands/job-watch';
import type { CommandContext, ProcessContext } from './command-context';
import { openContext } from './command-context';
import type { ExitCode } from './exit';
import { exitCodeOf, exitCodes } from './exit';
import { createOutput } from './output';
import { aborted, untilAskedToEnd } from './stack/parent-process';
import type { StackInUse } from './stack/use-stack';
import { useStack } from './stack/use-stack';
import { fileSize, plainTable } from './table';

export interface QuickstartOptions {
  examplesDir: string;
  outDir: string;
  /** Leave everything running until Ctrl-C, to look around in the Temporal UI. */
  keepOpen: boolean;
}

interface Conversion {
  file: string;
  format: string;
  startedAt: number;
  handle?: ConversionHandle;
  seconds?: number;
  output?: OutputFile;
  error?: string;
}

const plan: readonly (readonly [file: string, format: string])[] = [
  ['report.md', 'docx'],
  ['report.md', 'pdf'],
  ['logo.svg', 'png'],
  ['photo.png', 'webp'],
  ['table.csv', 'html'],
];

const refreshMs = 300;

/** `npm run quickstart`: the files of `examples/`, each as a durable job on the real stack. */
export async function runQuickstart(host: ProcessContext, options: QuickstartOptions): Promise<ExitCode> {
  const output = createOutput({ ...host, json: false, noColor: Boolean(host.env['NO_COLOR']) });
  try {
    const context = await openContext(host, {});
    const signal = untilAskedToEnd();
    const stack = await useStack(context, signal, 'up');
    try {
      return await convertExamples(context, { options, stack, signal });
    } finally {
      await stack.close();
    }
  } catch (error) {
    output.fail(error instanceof Error ? error.message : String(error));
    return exitCodeOf(error);
  }
}

async function convertExamples(
  context: CommandContext,
  { options, stack, signal }: { options: QuickstartOptions; stack: StackInUse; signal: AbortSignal },
): Promise<ExitCode> {
  const { output } = context;
  const run = `quickstart-${new Date().toISOString().slice(0, 19).replace(/\D/g, '')}`;
  const client = new FileConversionClient({ client: stack.client, taskQueue: stack.taskQueue, app: embeddedApp });
  const conversions = plan.map(([file, format]): Conversion => ({ file, format, startedAt: Date.now() }));
  output.say(`Converting ${conversions.length} files, each as a durable workflow ...`);
  const finished = Promise.all(
    conversions.map(async (conversion) => {
      await convertExample(client, conversion, { options, run });
      if (!signal.aborted) announce(context, conversion);
    }),
  ).then(() => 'finished' as const);
  const ended = Promise.race([finished, aborted(signal).then(() => 'interrupted' as const)]);
  await showProgress(context, conversions, ended);
  if (signal.aborted) {
    output.say('Interrupted; the jobs go on with the next `fileconv up`, or `npm run quickstart`.');
    return exitCodes.interrupted;
  }
  report(context, conversions, options.outDir);
  const ui = workflowsUrl(stack, run);
  if (options.keepOpen || stack.outlivesCommand) {
    output.print(`Temporal UI  ${ui ?? `the one of your own server; query: ${queryOf(run)}`}`);
  } else output.print('Temporal UI  npm run quickstart -- --keep-open');
  if (options.keepOpen && !stack.outlivesCommand) {
    output.say('\nTemporal, the service and the worker run until Ctrl-C.');
    await aborted(signal);
  }
  return conversions.every(({ error }) => error === undefined) ? exitCodes.ok : exitCodes.failed;
}

async function convertExample(
  client: FileConversionClient,
  conversion: Conversion,
  { options, run }: { options: QuickstartOptions; run: string },
): Promise<void> {
  const { file, format } = conversion;
  try {
    conversion.handle = await client.start(
      {
        source: path.join(options.examplesDir, file),
        output: format,
        destination: path.join(options.outDir, `${path.parse(file).name}.${format}`),
        onExisting: 'overwrite',
      },
      { workflowId: `${run}/${file}-to-${format}` },
    );
    const result = await conversion.handle.result();
    if (result.output) conversion.output = result.output;
  } catch (error) {
    conversion.error = error instanceof Error ? error.message : String(error);
  }
  conversion.seconds = (Date.now() - conversion.startedAt) / 1_000;
}

async function showProgress(
  { output }: CommandContext,
  conversions: readonly Conversion[],
  ended: Promise<unknown>,
): Promise<void> {
  const done = ended.then(() => 'done' as const);
  while (output.isLive && (await Promise.race([done, sleep(refreshMs, 'showing' as const)])) === 'showing') {
    const running = conversions.filter(({ seconds }) => seconds === undefined);
    const steps = running.map(async ({ file, format, handle }) => {
      const step = handle ? await currentStep(handle).catch(() => 'waiting') : 'starting';
      return `  ${file} → ${format}  ${output.colors.cyan(step)}`;
    });
    output.live(await Promise.all(steps));
  }
  await done;
  output.live([]);
}

function announce({ output }: CommandContext, { file, format, error, seconds }: Conversion): void {
  if (error === undefined) output.say(`  ${file} → ${format}  done in ${(seconds ?? 0).toFixed(1)} s`);
  else output.fail(error);
}

function report({ output, cwd }: CommandContext, conversions: readonly Conversion[], outDir: string): void {
  const table = new Table({ ...plainTable, head: ['FILE', 'FORMAT', 'SIZE', 'TIME', 'WORKFLOW ID'] });
  for (const { file, format, output: result, seconds, handle } of conversions) {
    const size = result ? fileSize(result.bytes) : 'failed';
    table.push([file, format, size, `${(seconds ?? 0).toFixed(1)} s`, handle?.workflowId ?? '-']);
  }
  output.print(`\n${table.toString()}\n`);
  output.print(`Results      ${path.relative(cwd, outDir)}${path.sep}`);
}

/** The Temporal UI, showing the workflows of this run alone. */
function workflowsUrl({ uiUrl, client }: StackInUse, run: string): string | undefined {
  if (uiUrl === undefined) return undefined;
  const url = new URL(`/namespaces/${encodeURIComponent(client.options.namespace)}/workflows`, uiUrl);
  url.searchParams.set('query', queryOf(run));
  return url.href;
}

function queryOf(run: string): string {
  return `WorkflowId STARTS_WITH "${run}"`;
}
