import path from 'node:path';
import type { ConversionHandle } from '../client/conversion-handle';
import { FileConversionClient } from '../client/file-conversion-client';
import { embeddedApp } from '../config';
import type { OutputFile } from '../shared/job';
import type { CommandContext, ProcessContext } from './command-context';
import { openContext } from './command-context';
import type { ExitCode } from './exit';
import { currentStep } from './convert/job-watch';
import type { JobProgress } from './convert/progress';
import { showProgress } from './convert/progress';
import { exitCodes } from './exit';
import { reportFailure } from './failure-report';
import { createOutput } from './output';
import { aborted, untilAskedToEnd } from './stack/parent-process';
import type { StackInUse } from './stack/stack-in-use';
import { useStack } from './stack/use-stack';
import { fileSize, formatTable } from './table';

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

/** `npm run quickstart`: the files of `examples/`, each as a durable job on the real stack. */
export async function runQuickstart(host: ProcessContext, options: QuickstartOptions): Promise<ExitCode> {
  const output = createOutput({ ...host, json: false });
  try {
    const context = await openContext(host, {});
    const signal = untilAskedToEnd();
    const stack = await useStack(context, signal, 'up');
    try {
      return await stack.untilClosed(() => convertExamples(context, { options, stack, signal }));
    } finally {
      await stack.close();
    }
  } catch (error) {
    return reportFailure(output, error);
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
  const progress = showProgress(output, conversions.length);
  const finished = Promise.all(
    conversions.map(async (conversion) => {
      await convertExample(client, conversion, { options, run, progress });
      if (!signal.aborted) announce(context, conversion);
    }),
  );
  await Promise.race([finished, aborted(signal)]);
  progress.close();
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
  { options, run, progress }: { options: QuickstartOptions; run: string; progress: JobProgress },
): Promise<void> {
  const { file, format } = conversion;
  const shown = progress.begin({ file, to: format });
  try {
    const handle = await client.start(
      {
        source: path.join(options.examplesDir, file),
        output: format,
        destination: path.join(options.outDir, `${path.parse(file).name}.${format}`),
        onExisting: 'overwrite',
        // The service is on this machine and nobody's requests are limited: ask often.
        policies: { maxCheckInterval: '1 second' },
      },
      { workflowId: `${run}/${file}-to-${format}` },
    );
    conversion.handle = handle;
    shown.started(() => currentStep(handle));
    const result = await handle.result();
    if (result.output) conversion.output = result.output;
  } catch (error) {
    conversion.error = error instanceof Error ? error.message : String(error);
  } finally {
    shown.end();
  }
  conversion.seconds = (Date.now() - conversion.startedAt) / 1_000;
}

function announce({ output }: CommandContext, { file, format, error, seconds }: Conversion): void {
  if (error === undefined) output.say(`  ${file} → ${format}  done in ${(seconds ?? 0).toFixed(1)} s`);
  else output.fail(error);
}

function report({ output, cwd }: CommandContext, conversions: readonly Conversion[], outDir: string): void {
  const rows = conversions.map(({ file, format, output: result, seconds, handle }) => {
    const size = result ? fileSize(result.bytes) : 'failed';
    return [file, format, size, `${(seconds ?? 0).toFixed(1)} s`, handle?.workflowId ?? '-'];
  });
  output.print(`\n${formatTable(['FILE', 'FORMAT', 'SIZE', 'TIME', 'WORKFLOW ID'], rows)}\n`);
  output.print(`Results      ${path.relative(cwd, outDir)}${path.sep}`);
}

/** The Temporal UI, showing the workflows of this run alone. */
function workflowsUrl({ uiUrl, client }: StackInUse, run: string): string | undefined {
  if (uiUrl === undefined) return undefined;
  const url = new URL(`${uiUrl}/namespaces/${encodeURIComponent(client.options.namespace)}/workflows`);
  url.searchParams.set('query', queryOf(run));
  return url.href;
}

function queryOf(run: string): string {
  return `WorkflowId STARTS_WITH "${run}"`;
}
