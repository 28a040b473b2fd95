import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { toMilliseconds } from '../history/timestamp';

/** By their numbers in `temporal.api.enums.v1.WorkerDeploymentVersionStatus`. */
const statuses: readonly DeploymentVersion['status'][] = [
  'unknown',
  'inactive',
  'current',
  'ramping',
  'draining',
  'drained',
  'created',
];

/** One version of the workers, as the server knows it. */
export interface DeploymentVersion {
  buildId: string;
  /**
   * `current`: gets new work; `ramping`: gets a share of it; `draining`: gets none, but work that began there goes on; `drained`: nothing
   * is left, its workers can go; `inactive`: has not got any.
   */
  status: 'unknown' | 'inactive' | 'current' | 'ramping' | 'draining' | 'drained' | 'created';
  /** Milliseconds since the epoch. */
  firstSeenAt?: number;
}

/** The workers of one name, and which of their versions gets new work. */
export interface Deployment {
  /** Absent: workers without a version get it. */
  current?: string;
  ramping?: { buildId: string; percent: number };
  /** The newest first. */
  versions: DeploymentVersion[];
}

/** The server refuses a change, for example to a version that no worker polls for. */
export class DeploymentChangeError extends Error {
  override readonly name = 'DeploymentChangeError';
}

/** Undefined when no worker of a version of it has ever polled. */
export async function readDeployment(client: Client, deploymentName: string): Promise<Deployment | undefined> {
  const { namespace } = client.options;
  const described = await client.workflowService
    .describeWorkerDeployment({ namespace, deploymentName })
    .catch((error: unknown) => {
      if (isGrpcServiceError(error) && (error.code as number) === grpcCodes.notFound) return undefined;
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
      .map(({ deploymentVersion, status, createTime }) => {
        const firstSeenAt = toMilliseconds(createTime);
        return {
          buildId: deploymentVersion?.buildId ?? '',
          status: statuses[status ?? 0] ?? 'unknown',
          ...(firstSeenAt !== undefined && { firstSeenAt }),
        };
      })
      .sort((a, b) => (b.firstSeenAt ?? 0) - (a.firstSeenAt ?? 0)),
  };
}

/**
 * New work goes to the workers of this version from now on; an absent one stands for workers without a version. What began on another one ends there.
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
 * So many percent of new work go to the workers of this version, the rest to the current one. 0 ends that.
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

const grpcCodes = { invalidArgument: 3, notFound: 5, failedPrecondition: 9 } as const;

async function change(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const refusals: readonly number[] = Object.values(grpcCodes);
    if (!isGrpcServiceError(error) || !refusals.includes(error.code)) throw error;
    throw new DeploymentChangeError(error.details, { cause: error });
  }
}
