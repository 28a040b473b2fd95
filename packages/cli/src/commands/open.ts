import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/common';
import { FileConversionClient, isBatchRunning, isWebAddress, workflowLink } from 'temporal-file-conversion/client';
import type { CommandContext } from '../command-context';
import { CommandError, explaining } from '../command-error';
import type { StackInUse } from '../stack/connect';
import { withTemporal } from '../stack/open-temporal';
import { createStallReader } from '../waiting/stall';
import { earlierPage, runningPage } from './batch/look';

/** Opens the report of a batch, even while it runs; else the page of a job or batch in the Temporal UI, or the UI itself. */
export async function openPage(context: CommandContext, name?: string): Promise<void> {
  const { output } = context;
  const page = await withTemporal(context, async (temporal) => {
    const report = name === undefined ? undefined : await reportOf(context, temporal, name);
    return report ?? (await pageOf(temporal, name));
  });
  output.result({ page }, page);
  if (output.json || (await show(page, context.env))) return;
  const isForBrowsers = isWebAddress(page) || page.startsWith('file:');
  output.say(
    isForBrowsers
      ? 'No program on this machine could open it. Open this address in a browser.'
      : 'A browser cannot open a file in an object store. Download it with a tool for that store.',
  );
}

async function reportOf(context: CommandContext, temporal: StackInUse, name: string): Promise<string | undefined> {
  const { client, taskQueue } = temporal;
  const isRunning = await isBatchRunning(client, name);
  if (isRunning === undefined) return undefined;
  if (isRunning) {
    const { state } = await createStallReader(context, temporal).batch(name);
    const { page, isThere } = (state && (await runningPage(context, state))) ?? {};
    return isThere ? page : undefined;
  }
  // A failed batch has no report, so the UI is opened.
  const ended = await new FileConversionClient({ client, taskQueue })
    .getBatch(name)
    .result()
    .catch(() => undefined);
  return ended?.report ?? (ended && earlierPage(context, temporal, { name, result: ended }));
}

async function pageOf({ client, namespace, uiUrl }: StackInUse, name?: string): Promise<string> {
  if (uiUrl === undefined || !isWebAddress(uiUrl)) {
    throw new CommandError('INPUT_UNUSABLE', [
      'The address of the Temporal UI is not known. Set temporal.ui_url, or start the stack with it: fileconv up',
    ]);
  }
  if (name === undefined) return uiUrl;
  await client.workflow
    .getHandle(name)
    .describe()
    .catch(
      explaining(
        WorkflowNotFoundError,
        'INPUT_UNUSABLE',
        () => `There is no job and no batch ${name}. See: fileconv job list, fileconv batch list`,
      ),
    );
  return workflowLink({ url: uiUrl, namespace }, name);
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** A browser still running after this time has opened the page. */
const openMs = 3_000;

async function show(page: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  // The page comes from Temporal, so anyone who may write to the namespace may have chosen it.
  if (!isWebAddress(page) && !/^file:.*\.html$/.test(page)) return false;
  const [program = '', ...options] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...options, page], { env, stdio: 'ignore', detached: true });
  child.unref();
  const ended = once(child, 'exit').then(
    ([exitCode]) => exitCode === 0,
    () => false,
  );
  return Promise.race([ended, sleep(openMs, true, { ref: false })]);
}
