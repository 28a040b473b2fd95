import type { Client } from '@temporalio/client';
import {
  findSearchAttributes,
  hasStatus,
  readTaskQueue,
  SearchAttributeRegistrationError,
} from 'temporal-file-conversion/client';
import { DecryptionError } from 'temporal-file-conversion/encryption';
import { conversionJobType } from 'temporal-file-conversion/job';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { makeCurrentCommand, temporalCommand } from '../config/temporal-connection';
import { readRetentionDays } from '../dev-server/retention';
import { readEncryptionKeys } from '../keys/encryption';
import { capitalised, counted } from 'temporal-file-conversion/messages';
import { retentionCommand } from '../stack/namespace-commands';
import type { StackInUse } from '../stack/connect';
import { openTemporal } from '../stack/open-temporal';
import { broken, brokenBy, ok, reasonOf, skipped, type PartFinding } from './checks';

const parts = ['namespace', 'search attributes', 'workers'] as const;
const encryptionPart = 'encryption';
const callTimeoutMs = 10_000;
const minRetentionDays = 7;

export async function checkTemporal(context: CommandContext): Promise<PartFinding[]> {
  const unusable = await unusableKeys(context);
  if (unusable) return [unusable, ...['Temporal', ...parts].map((part) => skipped(part, 'needs the encryption keys'))];
  let temporal: StackInUse;
  try {
    temporal = await openTemporal(context);
  } catch (error) {
    if (!(error instanceof CommandError && error.code === 'TEMPORAL_UNREACHABLE')) throw error;
    const fix = 'Start it (fileconv up), or correct TEMPORAL_ADDRESS: fileconv config show';
    return [brokenBy('Temporal', error, fix), ...parts.map((part) => skipped(part, 'needs Temporal'))];
  }
  const { client, namespace, address, uiUrl } = temporal;
  try {
    return await client.withDeadline(Date.now() + callTimeoutMs, async () => {
      const { serverVersion } = await client.workflowService.getSystemInfo({});
      const where = uiUrl === undefined ? '' : `, UI ${uiUrl}`;
      const found = [ok('Temporal', `${address}, server ${serverVersion}${where}`), await checkNamespace(temporal)];
      if (found.at(-1)?.status === 'broken') {
        return [...found, ...parts.slice(1).map((part) => skipped(part, `needs namespace ${namespace}`))];
      }
      return [
        ...found,
        await checkAttributes(client),
        await checkWorkers(context, temporal),
        ...(await checkEncryption(context, client)),
      ];
    });
  } finally {
    await temporal.close();
  }
}

async function checkNamespace({ client, address, namespace }: StackInUse): Promise<PartFinding> {
  try {
    const { workflowService } = client;
    const days = await readRetentionDays({ workflowService, namespace });
    if (days === undefined || days >= minRetentionDays) return ok('namespace', namespace);
    return {
      part: 'namespace',
      status: 'warning',
      says: `${namespace} forgets closed workflows after ${counted(days, 'day')}, and what they were charged: a job that is asked for again later may be charged again`,
      fix: `Keep them longer: ${retentionCommand(address, namespace)}`,
    };
  } catch (error) {
    const isUnknown = hasStatus(error, 'NOT_FOUND');
    const says = isUnknown ? `Temporal has no namespace ${namespace}` : `${namespace}: ${reasonOf(error)}`;
    const create = temporalCommand({ address, namespace }, 'operator namespace create');
    const fix = `Correct TEMPORAL_NAMESPACE, or create it: ${create}`;
    return broken('namespace', says, fix);
  }
}

async function checkAttributes(client: Client): Promise<PartFinding> {
  const part = 'search attributes';
  const fix = 'Register them: fileconv namespace init (jobs run without them, and are harder to find)';
  try {
    const { present, missing } = await findSearchAttributes(client);
    if (missing.length === 0) return ok(part, `all ${present.length} are registered`);
    return broken(part, `missing: ${missing.join(', ')}`, fix);
  } catch (error) {
    if (!(error instanceof SearchAttributeRegistrationError)) throw error;
    return broken(part, error.message, fix);
  }
}

async function checkWorkers({ config }: CommandContext, temporal: StackInUse): Promise<PartFinding> {
  const { client, taskQueue } = temporal;
  const { identities: workers, builds, current } = await readTaskQueue(client, taskQueue);
  const part = 'workers';
  if (workers.length === 0) {
    const fix = 'Start one: fileconv worker (or fileconv up); another queue is set with FILECONV_WORKER_TASK_QUEUE';
    return broken(part, `no worker polls task queue ${taskQueue}: its jobs make no progress`, fix);
  }
  if (!builds.includes(current)) {
    const [wanted = '', ...there] = [current, ...builds].map((build) =>
      build === undefined ? 'workers without a version' : `build ${build}`,
    );
    const makeCurrent = makeCurrentCommand(temporal, config.values.worker.deploymentName, builds[0]);
    return broken(
      part,
      `new jobs on task queue ${taskQueue} wait for ${wanted}, and it is polled only by ${there.join(', ')}`,
      `Start such a worker (FILECONV_WORKER_BUILD_ID), or give new jobs to ${there[0]}: ${makeCurrent}`,
    );
  }
  const hosts = new Set(workers.map((identity) => identity.replace(/^.*@/, '')));
  const apart =
    hosts.size > 1
      ? '; a job that writes to a local folder stays on the host that uploaded, unless they share their files (worker.shared_files = "on")'
      : '';
  return ok(part, `${workers.length} on task queue ${taskQueue}: ${workers.join(', ')}${apart}`);
}

/** Undefined if the keys are usable, or none are configured. */
async function unusableKeys(context: CommandContext): Promise<PartFinding | undefined> {
  try {
    await readEncryptionKeys(context);
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return broken(encryptionPart, error.message, 'Correct encryption.key_file or key_env: fileconv config show');
  }
}

/** Whether this machine's keys can read the newest job. No finding if nothing is encrypted. */
async function checkEncryption(context: CommandContext, client: Client): Promise<PartFinding[]> {
  let isSeen = false;
  try {
    const query = `WorkflowType = '${conversionJobType}'`;
    for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: 1 })) {
      await (await client.workflow.getHandle(workflowId, runId).describe()).staticSummary();
      isSeen = true;
      break;
    }
  } catch (error) {
    if (error instanceof DecryptionError)
      return [broken(encryptionPart, `the newest job: ${error.problem}`, capitalised(error.fix))];
    const fix = 'If its program has a data converter of its own, look at its jobs with that program';
    return [broken(encryptionPart, `the newest job can't be read: ${reasonOf(error)}`, fix)];
  }
  const keys = await readEncryptionKeys(context);
  if (!keys) return [];
  const others = [...keys.byId.keys()].filter((id) => id !== keys.current.id);
  const says = [
    `on, with the key ${keys.current.id}`,
    ...(others.length > 0 ? [`also reads ${others.join(', ')}`] : []),
    ...(isSeen ? ['the newest job can be read'] : []),
  ];
  return [ok(encryptionPart, says.join('; '))];
}
