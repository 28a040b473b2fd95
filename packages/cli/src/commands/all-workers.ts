import type { Client } from '@temporalio/client';
import {
  DeploymentChangeError,
  rampVersion,
  readDeployment,
  setCurrentVersion,
  type Deployment,
  type DeploymentVersion,
} from 'temporal-file-conversion/internal/client/operations/deployment';
import {
  readStepLimit,
  setStepLimit,
  type StepLimit,
} from 'temporal-file-conversion/internal/client/operations/task-queue-workers';
import type { CommandContext } from '../command-context';
import { CommandError, explaining } from '../command-error';
import { formatTable } from '../output/text';
import { withTemporal } from '../stack/open-temporal';

export function setLimit(context: CommandContext, perSecond: number, { reason }: { reason: string }): Promise<void> {
  return limit(context, { perSecond, reason });
}

export function clearLimit(context: CommandContext): Promise<void> {
  return limit(context, { perSecond: undefined, reason: 'removed with fileconv limit clear' });
}

export function showLimit(context: CommandContext): Promise<void> {
  return limit(context);
}

async function limit(
  context: CommandContext,
  change?: { perSecond: number | undefined; reason: string },
): Promise<void> {
  const { output } = context;
  return withTemporal(context, async ({ client, taskQueue }) => {
    if (change) await setStepLimit(client, { taskQueue, ...change });
    const found = await readStepLimit(client, taskQueue);
    output.result({ taskQueue, limit: found ?? null }, describeLimit(taskQueue, found));
    const unheld = found && whyUnheld(found);
    if (unheld !== undefined) output.warn(unheld);
  });
}

function describeLimit(taskQueue: string, found: StepLimit | undefined): string {
  if (!found) return `Task queue ${taskQueue}: no limit beyond those of the services.`;
  const { perSecond, reason, setBy, setAt } = found;
  const since = setAt === undefined ? '' : ` since ${new Date(setAt).toISOString()}`;
  const note = [reason, setBy && `by ${setBy}`].filter(Boolean).join(', ');
  return `Task queue ${taskQueue}: all workers that obey it together begin at most ${perSecond} step${perSecond === 1 ? '' : 's'} a second${since}${note && ` (${note})`}.`;
}

/** Undefined when every worker obeys the limit. */
export function whyUnheld({ disobeyedBy }: StepLimit): string | undefined {
  if (disobeyedBy.length === 0) return undefined;
  return `It does not hold for ${disobeyedBy.join(', ')}: start workers again with common_limit = "on" in [worker] (FILECONV_WORKER_COMMON_LIMIT=on).`;
}

/** What a person does about each version, beyond its name. */
const uses: Readonly<Record<DeploymentVersion['status'], string>> = {
  current: 'gets new work',
  ramping: 'gets a share of new work',
  draining: 'ends what began there; keep its workers',
  drained: 'has nothing left; its workers can go',
  inactive: 'has got no work yet',
  created: 'has got no work yet',
  unknown: '',
};

export async function makeCurrent(
  context: CommandContext,
  buildId: string | undefined,
  { unversioned = false }: { unversioned?: boolean },
): Promise<void> {
  if ((buildId !== undefined) === unversioned) {
    throw new CommandError('USAGE', ['Name a build id or --unversioned: fileconv deployment set-current 0.2.0']);
  }
  return deployment(context, (client, deploymentName) => setCurrentVersion(client, { deploymentName, buildId }));
}

export function rampUp(context: CommandContext, buildId: string, percent: number): Promise<void> {
  return deployment(context, (client, deploymentName) => rampVersion(client, { deploymentName, buildId, percent }));
}

export function showDeployment(context: CommandContext): Promise<void> {
  return deployment(context, () => Promise.resolve());
}

/** Changes which version gets new work, and shows all of them. */
async function deployment(
  context: CommandContext,
  change: (client: Client, deploymentName: string) => Promise<void>,
): Promise<void> {
  return withTemporal(context, async ({ client }) => {
    const { deploymentName } = context.config.values.worker;
    await change(client, deploymentName).catch(
      explaining(
        DeploymentChangeError,
        'STATE_UNUSABLE',
        ({ message }) =>
          `Deployment ${deploymentName} was not changed: ${message}. Start a worker of that version first (FILECONV_WORKER_BUILD_ID=... fileconv worker); the versions that there are: fileconv deployment show`,
      ),
    );
    const found = await readDeployment(client, deploymentName);
    context.output.result({ deploymentName, ...(found ?? { versions: [] }) }, describe(deploymentName, found));
  });
}

function describe(deploymentName: string, found: Deployment | undefined): string {
  if (!found) {
    return `Deployment ${deploymentName}: no worker with a version (worker.build_id) has run yet; workers without one get all work.`;
  }
  const { current, ramping, versions } = found;
  const rows = versions.map(({ buildId, status, firstSeenAt }) => [
    buildId,
    status === 'ramping' && ramping ? `ramping ${ramping.percent} %` : status,
    uses[status],
    firstSeenAt === undefined ? '' : new Date(firstSeenAt).toISOString(),
  ]);
  const rest = current === undefined ? 'Workers without a version get new work.' : '';
  return [`Deployment ${deploymentName}`, formatTable(['BUILD', 'STATUS', '', 'FIRST SEEN'], rows), rest]
    .filter(Boolean)
    .join('\n');
}
