import type { ServiceAdministration } from 'temporal-file-conversion-service';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { formatTable } from '../../table';
import { administer, requireApp } from './administer';

interface CreditsRow {
  app: string;
  appId: string;
  /** Null: unlimited. */
  vcredits: number | null;
  reserved: number;
  /** What a new conversion may cost at most; null: unlimited. */
  available: number | null;
}

/** `fileconv service credits show [app]` */
export async function showCredits(context: CommandContext, app: string | undefined): Promise<ExitCode> {
  const rows = await administer(context, (administration) => {
    if (app !== undefined) return [rowOf(administration, requireApp(administration, app))];
    return administration.listApps().map((each) => rowOf(administration, each));
  });
  return print(context, rows, app !== undefined);
}

/** `fileconv service credits set <app> <vcredits>` */
export async function setCredits(context: CommandContext, app: string, vcredits: number | null): Promise<ExitCode> {
  const row = await administer(context, (administration) => {
    const found = requireApp(administration, app);
    administration.setCredits(found.appId, vcredits);
    return rowOf(administration, found);
  });
  return print(context, [row], true);
}

/** `fileconv service credits add <app> <vcredits>` */
export async function addCredits(context: CommandContext, app: string, vcredits: number): Promise<ExitCode> {
  const row = await administer(context, (administration) => {
    const found = requireApp(administration, app);
    if (administration.addCredits(found.appId, vcredits).vcredits === null) {
      throw new CommandError('INPUT_UNUSABLE', [
        `App ${found.name} has unlimited vCredits. To limit them: fileconv service credits set ${found.name} ${vcredits}`,
      ]);
    }
    return rowOf(administration, found);
  });
  return print(context, [row], true);
}

function rowOf(administration: ServiceAdministration, { name, appId }: { name: string; appId: string }): CreditsRow {
  const { vcredits, reserved } = administration.balanceOf(appId);
  return { app: name, appId, vcredits, reserved, available: vcredits === null ? null : vcredits - reserved };
}

function print({ output }: CommandContext, rows: readonly CreditsRow[], single: boolean): ExitCode {
  if (output.json) output.printJson(single ? rows[0] : { apps: rows });
  else {
    const cells = rows.map(({ app, vcredits, reserved, available }) => [
      app,
      vcredits === null ? 'unlimited' : String(vcredits),
      String(reserved),
      available === null ? 'unlimited' : String(available),
    ]);
    output.print(formatTable(['APP', 'VCREDITS', 'RESERVED', 'AVAILABLE'], cells));
  }
  return exitCodes.ok;
}
