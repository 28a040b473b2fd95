import {
  refusalOf,
  type RegisteredSearchAttributes,
  registerSearchAttributes,
  SearchAttributeRegistrationError,
} from 'temporal-file-conversion/client';
import { searchAttributeTypes } from 'temporal-file-conversion/job';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { lengthenRetention, retentionDays } from '../dev-server/retention';
import { formatTable } from '../output/text';
import { registrationCommands, retentionCommand } from '../stack/namespace-commands';
import type { StackInUse } from '../stack/connect';
import { withTemporal } from '../stack/open-temporal';

export function namespaceInit(context: CommandContext): Promise<void> {
  const { output } = context;
  return withTemporal(context, async (temporal) => {
    const { namespace } = temporal;
    const { present, added } = await register(context, temporal);
    const rows = Object.entries(searchAttributeTypes).map(([name, type]) => [
      name,
      type,
      added.includes(name) ? 'added' : 'was there',
    ]);
    output.result({ namespace, present, added }, formatTable(['SEARCH ATTRIBUTE', 'TYPE', ''], rows));
    output.say(
      added.length === 0
        ? `Namespace ${namespace} has all of them; nothing was changed.`
        : `${added.length} added to namespace ${namespace}. Jobs started from now on have them; a client that runs already learns of them within a minute.`,
    );
    await keepHistories(context, temporal);
  });
}

async function keepHistories({ output }: CommandContext, { client, address, namespace }: StackInUse): Promise<void> {
  const { workflowService } = client;
  try {
    if (!(await lengthenRetention({ workflowService, namespace }))) return;
    output.say(`From now on, namespace ${namespace} keeps closed workflows for ${retentionDays} days.`);
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    const toType = retentionCommand(address, namespace);
    output.warn(
      `Closed workflows are not kept for ${retentionDays} days: ${refusal.reason} Someone with the right to do this can run: ${toType}`,
    );
  }
}

async function register(
  { output }: CommandContext,
  { client, address, namespace }: StackInUse,
): Promise<RegisteredSearchAttributes> {
  try {
    return await registerSearchAttributes(client);
  } catch (error) {
    if (!(error instanceof SearchAttributeRegistrationError)) throw error;
    const { message, problem, missing } = error;
    const refuse = (code: 'INPUT_UNUSABLE' | 'STATE_UNUSABLE' | 'ACCOUNT_REFUSED', text: string) =>
      new CommandError(code, [text], { cause: error });
    switch (problem) {
      case 'namespaceUnknown':
        throw refuse(
          'INPUT_UNUSABLE',
          `${message} Correct TEMPORAL_NAMESPACE, or create it: temporal operator namespace create --namespace ${namespace} --address ${address}`,
        );
      case 'wrongType':
        throw refuse(
          'STATE_UNUSABLE',
          `${message} A type can't be changed: use another namespace (TEMPORAL_NAMESPACE), or, when nothing else uses it, remove it (temporal operator search-attribute remove) and run this again.`,
        );
      case 'failed':
        throw refuse('STATE_UNUSABLE', message);
      case 'refused': {
        const commands = registrationCommands({ address, namespace }, missing);
        if (!output.json) output.print(commands.join('\n'));
        const toType = output.json ? commands.join(' && ') : 'the commands above.';
        throw refuse('ACCOUNT_REFUSED', `${message}. Someone with the right to do this can run: ${toType}`);
      }
    }
  }
}
