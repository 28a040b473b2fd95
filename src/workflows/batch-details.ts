import type { BatchState } from '../shared/batch';

/** What a person who opens a batch in the UI wants to know, in markdown. */
export function describeBatch(id: string, state: BatchState): string {
  const { status, items, window } = state;
  const counted = (['succeeded', 'failed', 'skipped', 'cancelled', 'inFlight', 'waiting'] as const)
    .filter((name) => state[name] > 0)
    .map((name) => `${state[name]} ${labels[name]}`);
  const failures = Object.entries(state.failures).sort(([, one], [, other]) => other - one);
  return [
    `**${status}**: ${items} items${counted.length === 0 ? '' : `, of them ${counted.join(', ')}`}`,
    waitsFor(state),
    `Window ${window}, started ${new Date(state.startedAt).toISOString()}, ${state.vcredits} vCredits, ${state.requests} requests`,
    failures.length === 0 ? '' : `Failures: ${failures.map(([code, count]) => `\`${code}\` ${count}`).join(', ')}`,
    state.possiblyChargedTwice === 0 ? '' : `**Possibly charged twice**: ${state.possiblyChargedTwice}`,
    `Its jobs: \`ConversionBatchId = "${id}"\`; those that wait for vCredits: \`... AND ConversionStatus = "awaitingCredits"\``,
  ]
    .filter(Boolean)
    .join('\n\n');
}

const labels = {
  succeeded: 'succeeded',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
  inFlight: 'in flight',
  waiting: 'waiting',
} as const;

function waitsFor({ status, inFlight }: BatchState): string {
  if (status === 'paused') return 'Starts no job until it is resumed.';
  if (status === 'stopping') return `Starts no more jobs; waits for the ${inFlight} in flight.`;
  return status === 'running' && inFlight > 0 ? `Waits for the ${inFlight} jobs in flight.` : '';
}
