import { ApplicationFailure } from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import {
  isWindow,
  maxWindow,
  type BatchPlan,
  type ConversionBatchInput,
  type InlineItem,
} from '../../batch/model/types';
import { problemOfInline } from '../../batch/model/inline-items';
import { defined } from '../../job/defined';
import { isNoticeUrl, noticeUrlProblem } from '../../batch/model/notices';
import { resolvePolicies } from '../job/policies';

/**
 * Checks the input before any job is started. The client has already checked it, but a schedule may bypass the client.
 *
 * @throws ApplicationFailure of type `INVALID_BATCH`, or `INVALID_JOB` for settings of every job, that names the field.
 */
export function checkBatchInput(input: ConversionBatchInput | null | undefined): asserts input is ConversionBatchInput {
  if (typeof input !== 'object' || input === null) throw invalid('its input', 'must be an object');
  const { app, plan, items, window, stopAfter, maxVcredits, onExisting, policies, historyLimit } = input;
  if ((plan === undefined) === (items === undefined)) throw invalid('plan', 'must be given, or else items');
  if (items) checkItems(items);
  if (plan) checkPlan(plan);
  if (window !== undefined && !isWindow(window))
    throw invalid('window', `must be a whole number from 1 to ${maxWindow}`);
  const { failures, percent } = stopAfter ?? {};
  if (failures !== undefined && !(failures >= 1)) throw invalid('stopAfter.failures', 'must be 1 or more');
  if (percent !== undefined && !(percent > 0 && percent <= 100)) {
    throw invalid('stopAfter.percent', 'must be above 0 and at most 100');
  }
  if (maxVcredits !== undefined && !(maxVcredits > 0)) throw invalid('maxVcredits', 'must be above 0');
  if (historyLimit !== undefined && !(historyLimit >= 1)) throw invalid('historyLimit', 'must be 1 or more');
  if (input.notify !== undefined && !isNoticeUrl(input.notify)) throw invalid('notify', noticeUrlProblem);
  resolvePolicies({
    app,
    source: { uri: plan?.folder ?? 'inline:' },
    output: 'any',
    ...(onExisting !== undefined && { onExisting }),
    ...(policies && { policies }),
  });
}

function checkPlan({ folder, cwd, out, settledForMs, moves, ...plan }: Partial<BatchPlan>): void {
  const { from, done, failed } = moves ?? {};
  const places = { folder, cwd, ...defined({ out, 'moves.done': done, 'moves.failed': failed }) };
  for (const [field, uri] of Object.entries({ ...places, ...(moves && { 'moves.from': from }) })) {
    if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:.*\/$/i.test(uri)) {
      throw invalid(`plan.${field}`, 'must be a URI that ends with a slash');
    }
  }
  if (settledForMs !== undefined && !(settledForMs > 0)) throw invalid('plan.settledForMs', 'must be above 0');
  const what: unknown = plan.what;
  const isAsked = typeof what === 'object' && what !== null && ('sources' in what || 'manifest' in what);
  if (what !== 'last' && !isAsked) throw invalid('plan.what', 'must be sources or a manifest');
}

function checkItems(items: unknown): void {
  if (!Array.isArray(items)) throw invalid('items', 'must be a list');
  for (const [index, item] of (items as (Partial<InlineItem> | null)[]).entries()) {
    if (typeof item !== 'object' || item === null) throw invalid(`items[${index}]`, 'must be an object');
    for (const field of ['source', 'output', 'destination'] as const) {
      if (typeof item[field] !== 'string') throw invalid(`items[${index}].${field}`, 'must be a text');
    }
    const { destination = '' } = item;
    if (destination.endsWith('/')) throw invalid(`items[${index}].destination`, 'must be a file, not a folder');
  }
  const found = problemOfInline(items as InlineItem[]);
  if (found) throw invalid(found.field, found.problem);
}

function invalid(field: string, problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`conversionBatch: ${field} ${problem}`, failureCodes.invalidBatch);
}
