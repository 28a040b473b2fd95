import { findObstacle, type Outcome, runRules, type Target } from 'temporal-file-conversion-conformance';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { formatTable } from '../output/text';
import { readProfile } from '../service/profiles';
import { untilAskedToEnd } from '../process/asked-to-end';

/** Nobody can verify this domain for an app. */
const unverifiedCallback = { url: 'https://callback.invalid/' };

export async function serviceCheck(
  context: CommandContext,
  { app = context.config.values.defaultApp }: { app?: string },
): Promise<ExitCode> {
  const { output } = context;
  const target: Target = { ...(await readProfile(context, app)), capabilities: { unverifiedCallback } };
  await requireAnswer(target);
  const signal = untilAskedToEnd(context);
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
  const rows = outcomes.map(({ status, source, rule, why = '' }) => [status, source, rule, printable(why)]);
  output.result(
    { baseUrl: target.baseUrl, ...totals, rules: outcomes },
    formatTable(['RESULT', 'SOURCE', 'RULE', 'WHY'], rows),
  );
  const others = totals.skipped === 0 ? '' : ' The column WHY says what the others need.';
  output.say(
    `${totals.passed + totals.failed} of ${outcomes.length} rules checked at ${target.baseUrl}: ${totals.passed} passed, ${totals.failed} failed.${others}`,
  );
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
