import type { CommandContext } from '../../command-context';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { formatTable } from '../../table';
import { administer } from './administer';

/** `fileconv service apps list` */
export async function listApps(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  const apps = await administer(context, (administration) =>
    administration.listApps().map(({ name, appId, plan, tokenSha256, registeredHashes, callbackDomains, balance }) => ({
      name,
      appId,
      plan,
      vcredits: balance.vcredits,
      tokens: tokenSha256.length,
      development: registeredHashes !== undefined,
      callbackDomains,
    })),
  );
  if (output.json) output.printJson({ apps });
  else {
    const rows = apps.map(({ name, appId, plan, vcredits, tokens, development }) => [
      name,
      appId,
      development ? `${plan}, development` : plan,
      vcredits === null ? 'unlimited' : String(vcredits),
      String(tokens),
    ]);
    output.print(formatTable(['NAME', 'APP ID', 'PLAN', 'VCREDITS', 'TOKENS'], rows));
  }
  return exitCodes.ok;
}

/** `fileconv service apps add <name>` */
export async function addApp(
  context: CommandContext,
  { name, plan, vcredits }: { name: string; plan: 'premium' | 'free'; vcredits?: number },
): Promise<ExitCode> {
  const { output } = context;
  const added = await administer(context, async (administration) => ({
    ...(await administration.addApp({ name, plan, vcredits })),
    file: administration.accountsFile,
  }));
  const { appId, token, file } = added;
  if (output.json) output.printJson({ name, appId, token });
  else output.print(`App ID  ${appId}\nToken   ${token}`);
  output.say(
    `Added to ${file}. Keep the token: only its hash is stored. A running service knows the app within a second.`,
  );
  return exitCodes.ok;
}

/** `fileconv service apps rotate-token <name>` */
export async function rotateToken(context: CommandContext, app: { name: string; revoke: boolean }): Promise<ExitCode> {
  const { output } = context;
  const { appId, token, validTokens } = await administer(context, (administration) => administration.rotateToken(app));
  if (output.json) output.printJson({ name: app.name, appId, token, validTokens });
  else output.print(`App ID  ${appId}\nToken   ${token}`);
  const older =
    validTokens > 1 ? 'The token before it stays valid until the next rotation.' : 'Every older token has ended.';
  output.say(`Keep the token: only its hash is stored. ${older}`);
  return exitCodes.ok;
}
