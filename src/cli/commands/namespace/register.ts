import type { Command } from 'commander';
import type { CommonOptions } from '../../command-context';
import type { CommandTools } from '../service-admin/register';

/** Builds `fileconv namespace ...`. */
export function addNamespace(program: Command, { common, examples, run }: CommandTools): void {
  const namespace = program
    .command('namespace')
    .description('prepare a Temporal namespace')
    .addHelpText('after', examples('fileconv namespace init'));
  common(namespace.command('init'))
    .description('register the search attributes that jobs are listed by; typing it again changes nothing')
    .addHelpText(
      'after',
      examples('fileconv namespace init', 'TEMPORAL_NAMESPACE=billing fileconv namespace init --json'),
    )
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./init.js')).namespaceInit(context)),
    );
}
