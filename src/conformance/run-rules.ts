import { isBeyond, type Rule, type Section, sections } from './rule';
import {
  beyondAuthenticationRules,
  beyondConvertRules,
  beyondDownloadRules,
  beyondFormatRules,
  beyondUploadRules,
} from './rules/beyond';
import { authenticationRules, endpointRules, versioningRules } from './rules/endpoints';
import { errorRules } from './rules/errors';
import { beyondCallbackRules, eventRules } from './rules/events';
import { limitRules } from './rules/limits';
import { beyondTaskResponseRules, taskResponseRules } from './rules/monitoring';
import { beyondRequestRules, convertFileRules, dataKeyRules, requestBodyRules } from './rules/requests';
import { convertOutputRules, entityRules, responseBodyRules, resultRules } from './rules/responses';
import { stateRules } from './rules/states';
import { Session } from './session';
import { type Capabilities, capabilityNames, type Target } from './target';
import { Undecided } from './verdict';

/** How one rule came out. */
export interface Outcome {
  readonly section: Section;
  readonly rule: string;
  readonly beyond: boolean;
  readonly status: 'pass' | 'fail' | 'skipped';
  /** Why it failed or was skipped. */
  readonly why?: string;
}

/** Every rule of the document, in its order. */
export const rules: readonly Rule[] = [
  ...requestBodyRules,
  ...dataKeyRules,
  ...responseBodyRules,
  ...entityRules,
  ...resultRules,
  ...convertOutputRules,
  ...stateRules,
  ...endpointRules,
  ...convertFileRules,
  ...taskResponseRules,
  ...authenticationRules,
  ...eventRules,
  ...errorRules,
  ...limitRules,
  ...versioningRules,
  ...beyondRequestRules,
  ...beyondUploadRules,
  ...beyondConvertRules,
  ...beyondTaskResponseRules,
  ...beyondDownloadRules,
  ...beyondFormatRules,
  ...beyondAuthenticationRules,
  ...beyondCallbackRules,
].sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section));

/** Checks rules one after the other against a service; never rejects. Close the session when done. */
export async function checkRule(rule: Rule, session: Session, target: Target): Promise<Outcome> {
  const about = { section: rule.section, rule: rule.rule, beyond: isBeyond(rule) };
  if (rule.needs && !target.capabilities?.[rule.needs]) {
    return { ...about, status: 'skipped', why: `needs ${capabilityNames[rule.needs]}` };
  }
  try {
    await rule.check(session);
    return { ...about, status: 'pass' };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const why = withoutTokens(message, target);
    return { ...about, status: error instanceof Undecided ? 'skipped' : 'fail', why };
  }
}

/** Checks every rule against a service, one after the other. */
export async function runRules(target: Target, onOutcome?: (outcome: Outcome) => void): Promise<Outcome[]> {
  const session = new Session(target);
  const outcomes: Outcome[] = [];
  try {
    for (const rule of rules) {
      const outcome = await checkRule(rule, session, target);
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
  } finally {
    await session.close();
  }
  return outcomes;
}

/** A service may echo what it was sent; what is printed must not hold a secret. */
function withoutTokens(text: string, { token, capabilities = {} }: Target): string {
  const others = Object.values(capabilities satisfies Partial<Capabilities>).flatMap((capability) =>
    'token' in capability ? [capability.token] : [],
  );
  return [token, ...others].reduce((safe, secret) => (secret === '' ? safe : safe.replaceAll(secret, '[token]')), text);
}
