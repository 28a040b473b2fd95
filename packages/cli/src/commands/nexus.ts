import {
  ensureNexusEndpoint,
  NexusEndpointError,
  type EndpointTarget,
} from 'temporal-file-conversion/internal/client/operations/nexus-endpoints';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { withTemporal, type OpenTemporal } from '../stack/open-temporal';
import { isTemporalCloud } from './namespace';

interface Flags {
  endpoint: string;
  taskQueue?: string;
  namespace?: string;
}

/** `fileconv nexus init`: makes the endpoint that leads callers to the workers. Typing it again changes nothing. */
export async function nexusInit(context: CommandContext, flags: Flags): Promise<void> {
  const { output, config } = context;
  const { nexusApps, taskQueue } = config.values.worker;
  const { endpoint } = flags;
  return withTemporal(context, async (temporal) => {
    const target = { namespace: flags.namespace ?? temporal.namespace, taskQueue: flags.taskQueue ?? taskQueue };
    const isNew = await ensure(context, temporal, { name: endpoint, target });
    if (nexusApps.length === 0) {
      output.warn('Callers may use no app yet. Name some for the workers: nexus_apps = ["APP"] in [worker].');
    }
    if (output.json) {
      output.printJson({ endpoint, ...target, created: isNew });
      return;
    }
    const leads = `leads to task queue ${target.taskQueue} of namespace ${target.namespace}`;
    output.print(
      isNew ? `Endpoint ${endpoint} was made; it ${leads}.` : `Endpoint ${endpoint} was there: it ${leads}.`,
    );
  });
}

async function ensure(
  { output }: CommandContext,
  { client, address }: OpenTemporal,
  { name, target }: { name: string; target: EndpointTarget },
): Promise<boolean> {
  try {
    return await ensureNexusEndpoint(client, name, target);
  } catch (error) {
    if (!(error instanceof NexusEndpointError)) throw error;
    const { message } = error;
    switch (error.problem) {
      case 'taken':
        throw new CommandError(
          'STATE_UNUSABLE',
          [
            `${message} Choose another name (--endpoint), or change it: ${endpointCommand('update', address, name, target)}`,
          ],
          { cause: error },
        );
      case 'invalid':
        throw new CommandError('INPUT_UNUSABLE', [`${message} Correct --endpoint, --namespace or --task-queue.`], {
          cause: error,
        });
      case 'refused': {
        const command = endpointCommand('create', address, name, target);
        if (!output.json) output.print(command);
        const toType = output.json ? command : 'the command above.';
        throw new CommandError('ACCOUNT_REFUSED', [`${message} Somebody who may can type: ${toType}`], {
          cause: error,
        });
      }
    }
  }
}

/** For somebody with more rights. Temporal Cloud has its own tool, and each endpoint there names its callers. */
export function endpointCommand(
  what: 'create' | 'update',
  address: string,
  name: string,
  { namespace, taskQueue }: EndpointTarget,
): string {
  const options = `--name ${name} --target-namespace ${namespace} --target-task-queue ${taskQueue}`;
  if (!isTemporalCloud(address)) return `temporal operator nexus endpoint ${what} --address ${address} ${options}`;
  const callers = what === 'create' ? ' --allow-namespace CALLERS_NAMESPACE' : '';
  return `tcld nexus endpoint ${what} ${options}${callers}`;
}
