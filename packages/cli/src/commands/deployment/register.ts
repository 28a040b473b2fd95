import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { CommonOptions } from '../../command-context';
import type { CommandTools } from '../../command-tools';

/** Builds `fileconv deployment ...`. */
export function addDeployment(program: Command, { common, examples, run }: CommandTools): void {
  const deployment = program
    .command('deployment')
    .description('which version of the workers gets new work, where workers have versions (worker.build_id)')
    .addHelpText('after', examples('fileconv deployment show', 'fileconv deployment set-current 0.2.0'));
  common(deployment.command('show'))
    .description('list the versions of the workers, and what each is used for')
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./deployment.js')).showDeployment(context)),
    );
  common(deployment.command('set-current'))
    .description('new work goes to workers of this version from now on; what began on another one ends there')
    .argument('[build-id]', 'worker.build_id of those workers')
    .option('--unversioned', 'new work goes to workers without a version')
    .addHelpText(
      'after',
      examples('fileconv deployment set-current 0.2.0', 'fileconv deployment set-current --unversioned'),
    )
    .action((buildId: string | undefined, options: CommonOptions & { unversioned?: boolean }) =>
      run(options, async (context) =>
        (await import('./deployment.js')).makeCurrent(context, { buildId, unversioned: options.unversioned === true }),
      ),
    );
  common(deployment.command('ramp'))
    .description('a share of new work goes to workers of this version, the rest to the current one')
    .argument('<build-id>', 'worker.build_id of those workers')
    .argument('<percent>', 'from 0, which ends it, to 100', percent)
    .addHelpText('after', examples('fileconv deployment ramp 0.2.0 5', 'fileconv deployment ramp 0.2.0 0'))
    .action((buildId: string, share: number, options: CommonOptions) =>
      run(options, async (context) => (await import('./deployment.js')).rampUp(context, { buildId, percent: share })),
    );
}

function percent(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 100)) {
    throw new InvalidArgumentError('It must be a number from 0 to 100.');
  }
  return value;
}
