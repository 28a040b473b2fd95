import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { CommandTools, CommonOptions } from '../command-context';

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
      run(options, async (context) => (await import('./namespace.js')).namespaceInit(context)),
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

/** Builds `fileconv limit ...`. */
export function addLimit(program: Command, { common, examples, run }: CommandTools): void {
  const limit = program
    .command('limit')
    .description('one limit for all workers together, kept by the Temporal server')
    .addHelpText('after', examples('fileconv limit set 10', 'fileconv limit show', 'fileconv limit clear'));
  common(limit.command('show'))
    .description('print how many steps of jobs all workers together begin in a second')
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./limit.js')).showLimit(context)),
    );
  common(limit.command('set'))
    .description('let all workers together begin at most so many steps (upload, submit, wait, download) in a second')
    .argument('<per-second>', 'a number above 0, such as 10 or 0.5', perSecond)
    .option('--reason <text>', 'for whoever finds the limit', 'set with fileconv limit set')
    .action((rate: number, options: CommonOptions & { reason: string }) =>
      run(options, async (context) =>
        (await import('./limit.js')).changeLimit(context, { perSecond: rate, reason: options.reason }),
      ),
    );
  common(limit.command('clear'))
    .description('remove the limit')
    .action((options: CommonOptions) =>
      run(options, async (context) =>
        (await import('./limit.js')).changeLimit(context, {
          perSecond: undefined,
          reason: 'removed with fileconv limit clear',
        }),
      ),
    );
}

/** 0 is refused: it would stop every job. */
function perSecond(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
