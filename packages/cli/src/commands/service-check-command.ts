import type { Outcome, Target } from 'temporal-file-conversion-conformance';
import { findObstacle, runRules } from 'temporal-file-conversion-conformance';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { untilAskedToEnd } from '../stack/parent-process';
import { formatTable } from '../table';
import { printable } from '../terminal-text';
import { chooseTarget, type TargetFlags } from './service-check-target';

/** A domain that nobody can verify for an app. */
const unverifiedCallback = { url: 'https://callback.invalid/' };

/** `fileconv service check`: the conformance suite against any service. Exit code 0 only when no rule fails. */
export async function serviceCheck(context: CommandContext, flags: TargetFlags): Promise<ExitCode> {
  const { output } = context;
  const target: Target = { ...(await chooseTarget(context, flags)), capabilities: { unverifiedCallback } };
  await requireAnswer(target);
  const signal = untilAskedToEnd();
  let checked = 0;
  const outcomes = await runRules(target, {
    signal,
    onOutcome: ({ section, rule }) => {
      checked += 1;
      output.live([`${checked} rules checked; ${section}: ${rule}`]);
    },
  });
  const count = (status: Outcome['status']): number => outcomes.filter((outcome) => outcome.status === status).length;
  const totals = { passed: count('pass'), failed: count('fail'), skipped: count('skipped') };
  if (output.json) output.printJson({ baseUrl: target.baseUrl, ...totals, rules: outcomes });
  else output.print(formatTable(['RESULT', 'SOURCE', 'RULE', 'WHY'], outcomes.map(toRow)));
  output.say(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped: ${target.baseUrl}`);
  if (signal.aborted) return exitCodes.interrupted;
  return totals.failed === 0 ? exitCodes.ok : exitCodes.failed;
}

async function requireAnswer(target: Target): Promise<void> {
  const obstacle = await findObstacle(target);
  if (!obstacle) return;
  if (obstacle.kind === 'account') {
    throw new CommandError('ACCOUNT_REFUSED', [
      `The service does not accept this App ID and token (${obstacle.why}). Check both.`,
    ]);
  }
  throw new CommandError('SERVICE_UNREACHABLE', [
    `There is no conversion service to check at ${target.baseUrl}: ${obstacle.why}`,
  ]);
}

function toRow({ status, source, restatedIn, rule, why = '' }: Outcome): string[] {
  return [status, [source, ...restatedIn].join(', '), rule, printable(why)];
}
