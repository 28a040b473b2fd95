import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { CommonOptions } from '../../command-context';
import type { CommandTools } from '../../command-tools';

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

/** 0 would stop every job, which nobody who types a limit wants to find out by waiting. */
function perSecond(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
