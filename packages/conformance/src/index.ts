/** The conformance suite: every sentence of the document that can be checked from outside, against any base URL. */
import { lookUpErrorCode } from 'temporal-file-conversion/contract';
import { type Rule, sections } from './rule';
import { beyondRules } from './rules/beyond';
import { endpointRules } from './rules/endpoints';
import { errorRules } from './rules/errors';
import { eventRules } from './rules/events';
import { limitRules } from './rules/limits';
import { monitoringRules } from './rules/monitoring';
import { requestRules } from './rules/requests';
import { responseRules } from './rules/responses';
import { Session } from './session';
import { noId, type Target, withoutTokens } from './target';
import { Undecided } from './verdict';

export { Session } from './session';
export type { Rule } from './rule';
export type { Capabilities, Capability, CallbackTarget, Credentials, Target } from './target';

/** The outcome of one rule. */
export interface Outcome extends Omit<Rule, 'check'> {
  readonly status: 'pass' | 'fail' | 'skipped';
  /** Why it failed or was skipped. */
  readonly why?: string;
}

/** Every rule of the document, in its order. */
export const rules: readonly Rule[] = [
  ...endpointRules,
  ...errorRules,
  ...requestRules,
  ...responseRules,
  ...monitoringRules,
  ...eventRules,
  ...limitRules,
  ...beyondRules,
].sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section));

/** Checks one rule; never rejects. Check the rules of a session one after the other, and close it when done. */
export async function checkRule(rule: Rule, session: Session, target: Target): Promise<Outcome> {
  const { check, ...about } = rule;
  try {
    await check(session);
    return { ...about, status: 'pass' };
  } catch (error) {
    const why = withoutTokens(messageOf(error), target);
    return { ...about, status: error instanceof Undecided ? 'skipped' : 'fail', why };
  }
}

/** Checks every rule against a service, one after the other; rules that were not checked before the signal have no outcome. */
export async function runRules(
  target: Target,
  { onOutcome, signal }: { onOutcome?: (outcome: Outcome) => void; signal?: AbortSignal } = {},
): Promise<Outcome[]> {
  const session = new Session(target);
  const end = () => void session.close();
  signal?.addEventListener('abort', end, { once: true });
  const outcomes: Outcome[] = [];
  try {
    for (const rule of rules) {
      const outcome = await checkRule(rule, session, target);
      if (signal?.aborted) break;
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
  } finally {
    signal?.removeEventListener('abort', end);
    await session.close();
  }
  return outcomes;
}

/** Why no rule can be checked: the service does not answer, or does not know the app. Undefined if nothing prevents it. */
export async function findObstacle(target: Target): Promise<{ kind: 'service' | 'account'; why: string } | undefined> {
  const session = new Session(target);
  try {
    const reply = await session.monitor(noId);
    const { errorCode } = reply;
    if (reply.json === undefined)
      return { kind: 'service', why: `not the answer of such a service: ${reply.describe()}` };
    const isRefused = errorCode !== undefined && lookUpErrorCode(errorCode)?.class === 'account';
    return isRefused ? { kind: 'account', why: withoutTokens(reply.describe(), target) } : undefined;
  } catch (error) {
    return { kind: 'service', why: withoutTokens(messageOf(error), target) };
  } finally {
    await session.close();
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
