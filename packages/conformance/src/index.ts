/** The conformance suite: every sentence of the document that can be checked from outside, against any base URL. */
export type { Rule } from './rule';
export { checkRule, findObstacle, type Outcome, rules, runRules } from './run-rules';
export { Session } from './session';
export { type Capabilities, type Capability, type CallbackReceiver, type Credentials, type Target } from './target';
