/** What a service may be set to: its engines, and its limits with their units, defaults and bounds. */
export { engineNames } from './engines/engine';
export { callbackLimits, type Limit, type LimitKey, optionsOf, serviceLimits } from './shared/limits';
