/** Settings of a service: its engines, and its limits with units, defaults and bounds. */
export { engineNames } from './engines/engine';
export { callbackLimits, type Limit, type LimitKey, optionsOf, serviceLimits } from './shared/limits';
