import type { BatchState, ConversionBatchResult } from '../../batch/model/state';
import { batchJobsPath } from '../../job/temporal-ui';
import { shellWord, shownTime, unmovedMessage } from '../../messages/wording';

/** The batch's result and its report list all warnings. */
const maxShownWarnings = 10;

/** Failures of the final steps, which do not fail the batch. */
export type EndDetails = Pick<ConversionBatchResult, 'reportFailure' | 'unmoved'>;

/** Details of a batch for the Temporal UI, in Markdown. `isListed`: the namespace has the search attributes. */
export function describeBatch(
  {
    workflowId,
    namespace,
    isListed,
    reportFailure,
    unmoved,
  }: { workflowId: string; namespace: string; isListed: boolean } & EndDetails,
  state: BatchState,
): string {
  const { status, items, window } = state;
  const link = (text: string, condition: string) => `[${text}](${batchJobsPath(namespace, workflowId, condition)})`;
  const links = [
    link('all its jobs', ''),
    link('running', ' AND ExecutionStatus = "Running"'),
    link('failed', ' AND ExecutionStatus = "Failed"'),
    ...(isListed ? [link('parked', ' AND ConversionStatus = "parked"')] : []),
  ];
  const counted = (['succeeded', 'failed', 'skipped', 'cancelled', 'inFlight', 'waiting'] as const)
    .filter((name) => state[name] > 0)
    .map((name) => `${state[name]} ${name === 'inFlight' ? 'in flight' : name}`);
  const failures = Object.entries(state.failures).sort(([, one], [, other]) => other - one);
  return [
    `**${status}**: ${items} items${counted.length === 0 ? '' : `, of them ${counted.join(', ')}`}`,
    waitsFor(state),
    state.needsAttention && `\`${state.needsAttention.code}\`: ${state.needsAttention.message}`,
    `Started ${shownTime(state.startedAt)} UTC, window ${window}, ${state.vcredits} vCredits, ${state.requests} requests`,
    failures.length === 0 ? '' : `Failures: ${failures.map(([code, count]) => `\`${code}\` ${count}`).join(', ')}`,
    state.kept === 0
      ? ''
      : `**Needs a person**: ${state.kept} files were not converted, since an earlier run may have been charged for them. Look at the service first; to convert all the same, and maybe pay twice: \`fileconv batch retry ${shellWord(workflowId)} --resubmit\``,
    state.planned?.leftOut ? `**Left out**: ${state.planned.leftOut}, which can't be read` : '',
    state.planned?.unsettled
      ? `${state.planned.unsettled} files that may still be being written are left to the next run`
      : '',
    ...(state.planned?.warnings ?? []).slice(0, maxShownWarnings).map((warning) => `- ${warning}`),
    state.possiblyChargedTwice === 0 ? '' : `**Possibly charged twice**: ${state.possiblyChargedTwice}`,
    unmoved ? unmovedMessage(unmoved) : '',
    reportFailure === undefined
      ? ''
      : `**No report**: ${reportFailure} When that is fixed: \`fileconv batch report ${shellWord(workflowId)}\``,
    `See ${links.join(', ')}.`,
    `In a terminal: \`fileconv batch status ${shellWord(workflowId)}\``,
  ]
    .filter(Boolean)
    .join('\n\n');
}

function waitsFor({ status, inFlight, needsAttention }: BatchState): string {
  if (status === 'paused') return 'Starts no job until it is resumed.';
  const jobs = `${inFlight} job${inFlight === 1 ? '' : 's'} in flight`;
  if (status === 'stopping') return `Starts no more jobs; waits for ${jobs}.`;
  if (status === 'running' && needsAttention) {
    return `**Needs attention**: starts no job as long as one waits; ${needsAttention.jobs} of ${jobs} ${needsAttention.jobs === 1 ? 'does' : 'do'}. It then continues by itself.`;
  }
  return status === 'running' && inFlight > 0 ? `Waits for ${jobs}.` : '';
}
