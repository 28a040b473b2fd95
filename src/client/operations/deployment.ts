import type { Client } from '@temporalio/client';
import { toMilliseconds } from '../../history/job-history';
import { defined } from '../../shared/defined';
import { hasStatus, refusalOf } from '../grpc';

/** Indexed by `temporal.api.enums.v1.WorkerDeploymentVersionStatus`. */
const statuses = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained', 'created'] as const;
const statusOf: Readonly<Record<number, DeploymentVersion['status']>> = statuses;

export interface DeploymentVersion {
  buildId: string;
  /**
   * `current`: gets new work; `ramping`: gets a share of it; `draining`: gets none, but continues its own; `drained`:
   * has none left, so its workers can be stopped; `inactive`: has never had any.
   */
  status: (typeof statuses)[number];
  /** Milliseconds since the epoch. */
  firstSeenAt?: number;
}

/** A worker deployment, and the versions that get its new work. */
export interface Deployment {
  /** Absent: unversioned workers get new work. */
  current?: string;
  ramping?: { buildId: string; percent: number };
  /** Newest first. */
  versions: DeploymentVersion[];
}

/** The server rejected a change, for example to a version that no worker polls for. */
export class DeploymentChangeError extends Error {
  override readonly name = 'DeploymentChangeError';
}

/** Undefined when no versioned worker of it has ever polled. */
export async function readDeployment(client: Client, deploymentName: string): Promise<Deployment | undefined> {
  const { namespace } = client.options;
  const described = await client.workflowService
    .describeWorkerDeployment({ namespace, deploymentName })
    .catch((error: unknown) => {
      if (hasStatus(error, 'NOT_FOUND')) return undefined;
      throw error;
    });
  if (!described) return undefined;
  const { versionSummaries = [], routingConfig } = described.workerDeploymentInfo ?? {};
  const current = routingConfig?.currentDeploymentVersion?.buildId;
  const ramping = routingConfig?.rampingDeploymentVersion?.buildId;
  return {
    ...(current && { current }),
    ...(ramping && { ramping: { buildId: ramping, percent: routingConfig.rampingVersionPercentage ?? 0 } }),
    versions: (versionSummaries ?? [])
      .map(({ deploymentVersion, status, createTime }) =>
        defined({
          buildId: deploymentVersion?.buildId ?? '',
          status: statusOf[status ?? 0] ?? ('unknown' as const),
          firstSeenAt: toMilliseconds(createTime),
        }),
      )
      .sort((a, b) => (b.firstSeenAt ?? 0) - (a.firstSeenAt ?? 0)),
  };
}

/**
 * Routes new work to this version (undefined: unversioned workers); work started on another version ends there.
 * @throws DeploymentChangeError
 */
export async function setCurrentVersion(
  client: Client,
  { deploymentName, buildId = '' }: { deploymentName: string; buildId: string | undefined },
): Promise<void> {
  const { namespace, identity } = client.options;
  await change(() =>
    client.workflowService.setWorkerDeploymentCurrentVersion({ namespace, identity, deploymentName, buildId }),
  );
}

/**
 * Routes this percentage of new work to the version, and the rest to the current one; 0 ends the ramp.
 * @throws DeploymentChangeError
 */
export async function rampVersion(
  client: Client,
  { deploymentName, buildId, percent }: { deploymentName: string; buildId: string; percent: number },
): Promise<void> {
  const { namespace, identity } = client.options;
  const request = { namespace, identity, deploymentName, buildId: percent === 0 ? '' : buildId, percentage: percent };
  await change(() => client.workflowService.setWorkerDeploymentRampingVersion(request));
}

async function change(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!hasStatus(error, 'INVALID_ARGUMENT', 'NOT_FOUND', 'FAILED_PRECONDITION')) throw error;
    throw new DeploymentChangeError(refusalOf(error)?.reason, { cause: error });
  }
}
