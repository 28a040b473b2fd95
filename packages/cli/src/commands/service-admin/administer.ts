import { AccountsFileError, openAdministration, type ServiceAdministration } from 'temporal-file-conversion-service';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';

/** Opens the service's data folder for one command, and closes it. */
export async function administer<Result>(
  { config }: CommandContext,
  work: (administration: ServiceAdministration) => Result | Promise<Result>,
): Promise<Result> {
  const { dataDir, accountsFile } = config.values.service;
  let administration: ServiceAdministration | undefined;
  try {
    administration = await openAdministration({ dataDir, accountsFile });
    return await work(administration);
  } catch (error) {
    if (error instanceof AccountsFileError) throw new CommandError('INPUT_UNUSABLE', [error.message], { cause: error });
    throw error;
  } finally {
    administration?.close();
  }
}

export function requireApp(administration: ServiceAdministration, name: string): { name: string; appId: string } {
  const app = administration.findApp(name);
  if (app) return app;
  const known = administration.listApps().map((each) => each.name);
  throw new CommandError('UNKNOWN_APP', [`The service has no app "${name}"; there are: ${known.join(', ')}.`]);
}
