import { Option, type Command } from 'commander';
import { type Act, appName, command, group, wholeNumber } from '../arguments';

const count = wholeNumber(0);

export function addServiceAdmin(service: Command, act: Act): void {
  // Both `service` and its subcommands have --json and --config: options after a subcommand belong to the subcommand.
  for (const each of [service.parent, service]) each?.enablePositionalOptions();

  const credits = group(service, 'credits', "show and change the vCredits of the service's apps");
  command(credits, 'show', 'print balances; reserved vCredits belong to conversions in progress')
    .argument('[app]', 'name or App ID; default: all')
    .action(act(async () => (await import('./administration.js')).showCredits));
  command(credits, 'set', 'set the balance of an app', 'fileconv service credits set embedded 100')
    .argument('<app>', 'name or App ID')
    .argument('<vcredits>', 'whole number, or unlimited', (text) => (text === 'unlimited' ? null : count(text)))
    .action(act(async () => (await import('./administration.js')).setCredits));
  command(credits, 'add', 'add to the balance of an app')
    .argument('<app>', 'name or App ID')
    .argument('<vcredits>', 'whole number', count)
    .action(act(async () => (await import('./administration.js')).addCredits));

  const apps = group(service, 'apps', "show and change the service's apps");
  command(apps, 'list', 'print every app; the service does not know tokens').action(
    act(async () => (await import('./administration.js')).listApps),
  );
  command(apps, 'add', 'add an app to the accounts file and print its token, only this once')
    .argument('<name>', 'letters, digits, "-" and "_"', appName)
    .addOption(new Option('--plan <plan>').choices(['premium', 'free']).default('premium'))
    .option('--vcredits <n>', 'initial balance; default: unlimited', count)
    .action(act(async () => (await import('./administration.js')).appsAdd));

  const tasks = group(service, 'tasks', 'show the tasks that the service has accepted');
  command(tasks, 'list', 'print the newest tasks')
    .option('--app <app>', 'only tasks of this app: name or App ID')
    .addOption(new Option('--status <status>', 'only tasks in this state').choices(['hold', 'running', 'completed']))
    .option('--limit <n>', 'maximum number of tasks', count, 50)
    .action(act(async () => (await import('./administration.js')).listTasks));
}
