import {
  registerSearchAttributes,
  SearchAttributeRegistrationError,
  type RegisteredSearchAttributes,
} from 'temporal-file-conversion/internal/client/operations/search-attributes';
import { searchAttributeTypes } from 'temporal-file-conversion/internal/shared/search-attributes';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { formatTable } from '../output/text';
import { openTemporal, type OpenTemporal } from '../stack/open-temporal';

/** `fileconv namespace init`: registers what jobs are listed by. Typing it again changes nothing. */
export async function namespaceInit(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  const temporal = await openTemporal(context);
  try {
    const { present, added } = await temporal.untilClosed(() => register(context, temporal));
    if (output.json) {
      output.printJson({ namespace: temporal.namespace, present, added });
      return exitCodes.ok;
    }
    const rows = Object.entries(searchAttributeTypes).map(([name, type]) => [
      name,
      type,
      added.includes(name) ? 'added' : 'was there',
    ]);
    output.print(formatTable(['SEARCH ATTRIBUTE', 'TYPE', ''], rows));
    output.say(
      added.length === 0
        ? `Namespace ${temporal.namespace} has all of them; nothing was changed.`
        : `${added.length} added to namespace ${temporal.namespace}. Jobs started from now on have them; a client that runs already learns of them within a minute.`,
    );
    return exitCodes.ok;
  } finally {
    await temporal.close();
  }
}

async function register(
  { output }: CommandContext,
  { client, address, namespace }: OpenTemporal,
): Promise<RegisteredSearchAttributes> {
  try {
    return await registerSearchAttributes(client);
  } catch (error) {
    if (!(error instanceof SearchAttributeRegistrationError)) throw error;
    const options = { cause: error };
    switch (error.problem) {
      case 'namespaceUnknown':
        throw new CommandError(
          'INPUT_UNUSABLE',
          [
            `${error.message} Correct TEMPORAL_NAMESPACE, or create it: temporal operator namespace create --namespace ${namespace} --address ${address}`,
          ],
          options,
        );
      case 'wrongType':
        throw new CommandError(
          'STATE_UNUSABLE',
          [
            `${error.message} A type can't be changed: use another namespace (TEMPORAL_NAMESPACE), or, when nothing else uses it, remove it (temporal operator search-attribute remove) and type this again.`,
          ],
          options,
        );
      case 'failed':
        throw new CommandError('STATE_UNUSABLE', [error.message], options);
      case 'refused': {
        const commands = registrationCommands({ address, namespace }, error.missing);
        if (!output.json) output.print(commands.join('\n'));
        throw new CommandError(
          'ACCOUNT_REFUSED',
          [
            `${error.message}. Somebody who may can type: ${output.json ? commands.join(' && ') : 'the commands above.'}`,
          ],
          options,
        );
      }
    }
  }
}

/** Commands that register search attributes, for somebody with more rights. Temporal Cloud has its own tool for this. */
export function registrationCommands(
  { address, namespace }: { address: string; namespace: string },
  missing: readonly string[],
): string[] {
  if (/\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address)) {
    const options = missing.map((name) => `--search-attribute "${name}=${searchAttributeTypes[name] ?? ''}"`);
    return [`tcld namespace search-attributes add --namespace ${namespace} ${options.join(' ')}`];
  }
  return missing.map(
    (name) =>
      `temporal operator search-attribute create --address ${address} --namespace ${namespace} --name ${name} --type ${searchAttributeTypes[name] ?? ''}`,
  );
}
