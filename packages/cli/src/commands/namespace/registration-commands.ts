import { searchAttributeTypes } from 'temporal-file-conversion/internal/shared/search-attributes';

/** What somebody with more rights types to register search attributes. Temporal Cloud has a tool of its own for this. */
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
