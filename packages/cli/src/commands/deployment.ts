import type { Client } from '@temporalio/client';
import {
  DeploymentChangeError,
  rampVersion,
  readDeployment,
  setCurrentVersion,
  type Deployment,
  type DeploymentVersion,
} from 'temporal-file-conversion/internal/client/operations/deployment';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { formatTable } from '../output/text';
import { withTemporal } from '../stack/open-temporal';

/** What a person does about each, beyond its name. */
const uses: Readonly<Record<DeploymentVersion['status'], string>> = {
  current: 'gets new work',
  ramping: 'gets a share of new work',
  draining: 'ends what began there; keep its workers',
  drained: 'has nothing left; its workers can go',
  inactive: 'has got no work yet',
  created: 'has got no work yet',
  unknown: '',
};

export async function showDeployment(context: CommandContext): Promise<void> {
  return withTemporal(context, async ({ client }) => {
    await tell(context, client);
  });
}

export async function makeCurrent(
  context: CommandContext,
  buildId: string | undefined,
  { unversioned = false }: { unversioned?: boolean },
): Promise<void> {
  if ((buildId !== undefined) === unversioned) {
    throw new CommandError('USAGE', ['Name a build id or --unversioned: fileconv deployment set-current 0.2.0']);
  }
  return change(context, (client, deploymentName) => setCurrentVersion(client, { deploymentName, buildId }));
}

export async function rampUp(context: CommandContext, buildId: string, percent: number): Promise<void> {
  return change(context, (client, deploymentName) => rampVersion(client, { deploymentName, buildId, percent }));
}

async function change(
  context: CommandContext,
  run: (client: Client, deploymentName: string) => Promise<void>,
): Promise<void> {
  return withTemporal(context, async ({ client }) => {
    const { deploymentName } = context.config.values.worker;
    try {
      await run(client, deploymentName);
    } catch (error) {
      if (!(error instanceof DeploymentChangeError)) throw error;
      const problem = `Deployment ${deploymentName} was not changed: ${error.message}. Start a worker of that version first (FILECONV_WORKER_BUILD_ID=... fileconv worker); the versions that there are: fileconv deployment show`;
      throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
    }
    await tell(context, client);
  });
}

async function tell({ config, output }: CommandContext, client: Client): Promise<void> {
  const { deploymentName } = config.values.worker;
  const deployment = await readDeployment(client, deploymentName);
  if (output.json) output.printJson({ deploymentName, ...(deployment ?? { versions: [] }) });
  else output.print(describe(deploymentName, deployment));
}

function describe(deploymentName: string, deployment: Deployment | undefined): string {
  if (!deployment) {
    return `Deployment ${deploymentName}: no worker with a version (worker.build_id) has run yet; workers without one get all work.`;
  }
  const { current, ramping, versions } = deployment;
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
