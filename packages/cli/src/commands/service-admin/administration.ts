import { formatTime, openAdministration, SettingsFileError } from 'temporal-file-conversion-service/administration';
import type { ServiceAdministration } from 'temporal-file-conversion-service/administration';
import { makeStateFolders } from '../../allowed';
import type { CommandContext } from '../../command-context';
import { CommandError, explaining } from '../../command-error';
import { formatTable } from '../../output/text';
import { configuredServiceUrl, runningServiceUrl } from '../../service/embedded-service';

async function administer<Result>(
  context: CommandContext,
  work: (administration: ServiceAdministration) => Result | Promise<Result>,
): Promise<Result> {
  const { dataDir, accountsFile } = context.config.values.service;
  await makeStateFolders(context);
  let administration: ServiceAdministration | undefined;
  try {
    administration = await openAdministration({ dataDir, accountsFile });
    return await work(administration);
  } catch (error) {
    return explaining(SettingsFileError, 'INPUT_UNUSABLE', ({ message }) => message)(error);
  } finally {
    administration?.close();
  }
}

function requireApp(administration: ServiceAdministration, name: string) {
  const app = administration.findApp(name);
  if (app) return app;
  const known = administration.listApps().map((each) => each.name);
  throw new CommandError('UNKNOWN_APP', [`The service has no app "${name}"; there are: ${known.join(', ')}.`]);
}

export async function listApps(context: CommandContext): Promise<void> {
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
  const rows = apps.map(({ name, appId, plan, vcredits, tokens, development }) => [
    name,
    appId,
    development ? `${plan}, development` : plan,
    amount(vcredits),
    String(tokens),
  ]);
  output.result({ apps }, formatTable(['NAME', 'APP ID', 'PLAN', 'VCREDITS', 'TOKENS'], rows));
}

function amount(vcredits: number | null): string {
  return vcredits === null ? 'unlimited' : String(vcredits);
}

export async function appsAdd(
  context: CommandContext,
  name: string,
  { plan, vcredits }: { plan: 'premium' | 'free'; vcredits?: number },
): Promise<void> {
  const { output } = context;
  const { appId, token, file } = await administer(context, async (administration) => ({
    ...(await administration.addApp({ name, plan, vcredits })),
    file: administration.accountsFile,
  }));
  output.result({ name, appId, token }, `App ID  ${appId}\nToken   ${token}`);
  output.say(
    `Added to ${file}. Keep the token: only its hash is stored. A running service knows the app within a second.`,
  );
  output.say(`For a fileconv.toml that uses it:

[apps.${JSON.stringify(name)}]
base_url = "${(await runningServiceUrl(context)) ?? configuredServiceUrl(context)}"
app_id = "${appId}"
token_env = "THE_VARIABLE_WITH_THE_TOKEN"`);
}

export function showCredits(context: CommandContext, app: string | undefined): Promise<void> {
  return credits(context, app);
}

export function setCredits(context: CommandContext, app: string, vcredits: number | null): Promise<void> {
  return credits(context, app, (administration, { appId }) => administration.setCredits(appId, vcredits));
}

export function addCredits(context: CommandContext, app: string, vcredits: number): Promise<void> {
  return credits(context, app, (administration, { name, appId }) => {
    if (administration.addCredits(appId, vcredits).vcredits !== null) return;
    throw new CommandError('INPUT_UNUSABLE', [
      `App ${name} has unlimited vCredits. To limit them: fileconv service credits set ${name} ${vcredits}`,
    ]);
  });
}

async function credits(
  context: CommandContext,
  app: string | undefined,
  change?: (administration: ServiceAdministration, app: { name: string; appId: string }) => void,
): Promise<void> {
  const { output } = context;
  const rows = await administer(context, (administration) => {
    const apps = app === undefined ? administration.listApps() : [requireApp(administration, app)];
    return apps.map(({ name, appId }) => {
      change?.(administration, { name, appId });
      // Null: unlimited. `available` is what a new conversion may cost at most.
      const { vcredits, reserved } = administration.balanceOf(appId);
      return { app: name, appId, vcredits, reserved, available: vcredits === null ? null : vcredits - reserved };
    });
  });
  const cells = rows.map(({ app: name, vcredits, reserved, available }) => [
    name,
    amount(vcredits),
    String(reserved),
    amount(available),
  ]);
  output.result(
    app === undefined ? { apps: rows } : rows[0],
    formatTable(['APP', 'VCREDITS', 'RESERVED', 'AVAILABLE'], cells),
  );
}

export async function listTasks(
  context: CommandContext,
  { app, status, limit }: { app?: string; status?: string; limit: number },
): Promise<void> {
  const { output } = context;
  const { tasks, names } = await administer(context, (administration) => ({
    tasks: administration.listTasks({
      appId: app === undefined ? undefined : requireApp(administration, app).appId,
      status,
      limit,
    }),
    names: new Map(administration.listApps().map(({ name, appId }) => [appId, name])),
  }));
  if (output.json) {
    const listed = tasks.map((task) => ({
      ...task,
      createdAt: new Date(task.createdAt).toISOString(),
      completedAt: task.completedAt === null ? null : new Date(task.completedAt).toISOString(),
    }));
    output.printJson({ tasks: listed });
    return;
  }
  const rows = tasks.map((task) => [
    task.id,
    names.get(task.app) ?? task.app,
    task.endpoint,
    task.errorCode ?? task.status,
    task.inputFormat === null ? '' : `${task.inputFormat} → ${task.outputFormat ?? ''}`,
    task.vcredits === null ? '' : String(task.vcredits),
    formatTime(task.createdAt),
  ]);
  if (rows.length === 0) output.say('No tasks.');
  else output.print(formatTable(['TASK', 'APP', 'ENDPOINT', 'STATE', 'FORMATS', 'VCREDITS', 'CREATED (UTC)'], rows));
}
