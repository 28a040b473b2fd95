import type { Command } from 'commander';
import type { CommonOptions } from '../command-context';
import type { CommandTools } from '../command-tools';

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
      run(options, async (context) => (await import('./namespace/init.js')).namespaceInit(context)),
    );
}

/** Builds `fileconv doctor`. */
export function addDoctor(program: Command, { common, examples, run }: CommandTools): void {
  common(program.command('doctor'))
    .description('look at every part that a conversion needs, and say what to do about a broken one')
    .option('--app <name>', 'the service of this app profile only; default: of every configured one')
    .addHelpText(
      'after',
      examples('fileconv doctor', 'fileconv doctor --json | jq \'.findings[] | select(.status == "broken")\''),
    )
    .action((options: CommonOptions & { app?: string }) =>
      run(options, async (context) => (await import('./doctor.js')).doctor(context, options)),
    );
}
