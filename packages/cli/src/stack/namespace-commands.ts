import { searchAttributeTypes } from 'temporal-file-conversion/job';
import { retentionDays } from '../dev-server/retention';
import { isTemporalCloud } from './connect';

/** Commands that register search attributes, for a person with more rights. Temporal Cloud has its own tool for this. */
export function registrationCommands(
  { address, namespace }: { address: string; namespace: string },
  missing: readonly string[],
): string[] {
  if (isTemporalCloud(address)) {
    const options = missing.map((name) => `--search-attribute "${name}=${searchAttributeTypes[name] ?? ''}"`);
    return [`tcld namespace search-attributes add --namespace ${namespace} ${options.join(' ')}`];
  }
  return missing.map(
    (name) =>
      `temporal operator search-attribute create --address ${address} --namespace ${namespace} --name ${name} --type ${searchAttributeTypes[name] ?? ''}`,
  );
}

/** A command that extends the retention, for a person with more rights. */
export function retentionCommand(address: string, namespace: string): string {
  if (isTemporalCloud(address))
    return `tcld namespace retention set --namespace ${namespace} --retention-days ${retentionDays}`;
  const hours = retentionDays * 24;
  return `temporal operator namespace update --address ${address} --namespace ${namespace} --retention ${hours}h`;
}
