import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { CommandTools, CommonOptions } from '../../command-context';

/** Builds the commands of `fileconv service ...` for operators; what they do is loaded only when one runs. */
export function addServiceAdmin(service: Command, tools: CommandTools): void {
  // Both `service` and its subcommands have --json and --config: options after a subcommand belong to that.
  for (const command of [service.parent, service]) command?.enablePositionalOptions();
  addCredits(service, tools);
  addApps(service, tools);
  addTasks(service, tools);
}

function addCredits(service: Command, { common, examples, run }: CommandTools): void {
  const credits = service
    .command('credits')
    .description("look at and change the vCredits of the service's apps")
    .addHelpText('after', examples('fileconv service credits show', 'fileconv service credits set embedded 100'));
  common(credits.command('show'))
    .description('print balances; what is reserved belongs to conversions under way')
    .argument('[app]', 'name or App ID; default: all')
    .action((app: string | undefined, options: CommonOptions) =>
      run(options, async (context) => (await import('./administration.js')).showCredits(context, app)),
    );
  common(credits.command('set'))
    .description('set the balance of an app')
    .argument('<app>', 'name or App ID')
    .argument('<vcredits>', 'whole number, or unlimited', vcreditsOrUnlimited)
    .action((app: string, vcredits: number | null, options: CommonOptions) =>
      run(options, async (context) => (await import('./administration.js')).setCredits(context, app, vcredits)),
    );
  common(credits.command('add'))
    .description('add to the balance of an app')
    .argument('<app>', 'name or App ID')
    .argument('<vcredits>', 'whole number', wholeNumber)
    .action((app: string, vcredits: number, options: CommonOptions) =>
      run(options, async (context) => (await import('./administration.js')).addCredits(context, app, vcredits)),
    );
}

function addApps(service: Command, { common, examples, run }: CommandTools): void {
  const apps = service
    .command('apps')
    .description("look at and change the service's apps")
    .addHelpText('after', examples('fileconv service apps add billing --vcredits 500', 'fileconv service apps list'));
  common(apps.command('list'))
    .description('print every app; tokens are not known to the service')
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./administration.js')).listApps(context)),
    );
  common(apps.command('add'))
    .description('add an app to the accounts file and print its token, this once')
    .argument('<name>', 'letters, digits, "-" and "_"', appName)
    .addOption(new Option('--plan <plan>').choices(['premium', 'free']).default('premium'))
    .option('--vcredits <n>', 'first balance; default: unlimited', wholeNumber)
    .action((name: string, options: CommonOptions & { plan: 'premium' | 'free'; vcredits?: number }) =>
      run(options, async (context) => (await import('./administration.js')).addApp(context, { ...options, name })),
    );
  common(apps.command('rotate-token'))
    .description(
      'give an app a new token and print it, this once; the token before stays valid until the next rotation',
    )
    .argument('<name>', 'name of the app', appName)
    .option('--revoke', 'end all older tokens at once')
    .action((name: string, options: CommonOptions & { revoke?: boolean }) =>
      run(options, async (context) =>
        (await import('./administration.js')).rotateToken(context, { name, revoke: options.revoke === true }),
      ),
    );
}

function addTasks(service: Command, { common, examples, run }: CommandTools): void {
  const tasks = service
    .command('tasks')
    .description('look at the tasks that the service has accepted')
    .addHelpText(
      'after',
      examples('fileconv service tasks list --status running', 'fileconv service tasks list --json'),
    );
  common(tasks.command('list'))
    .description('print the newest tasks')
    .option('--app <app>', 'of this app only: name or App ID')
    .addOption(new Option('--status <status>', 'in this state only').choices(['hold', 'running', 'completed']))
    .option('--limit <n>', 'at most so many', wholeNumber, 50)
    .action((options: CommonOptions & { app?: string; status?: string; limit: number }) =>
      run(options, async (context) => (await import('./administration.js')).listTasks(context, options)),
    );
  common(tasks.command('show'))
    .description('print everything about a task')
    .argument('<id>', 'Task ID')
    .action((id: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./administration.js')).showTask(context, id)),
    );
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

function vcreditsOrUnlimited(text: string): number | null {
  return text === 'unlimited' ? null : wholeNumber(text);
}

function appName(text: string): string {
  if (/^[a-z0-9][a-z0-9_-]*$/i.test(text)) return text;
  throw new InvalidArgumentError('The name of an app may hold letters, digits, "-" and "_" only.');
}
