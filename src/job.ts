/** What a job and a batch are: their types, policies and names. Needs no package, and works in workflows too. */
export { defined } from './shared/defined';
export { credentialsProblem, holdsCredentials, lastSegment, withoutSecrets } from './shared/job';
export type {
  ConversionJobInput,
  ConversionJobResult,
  ConversionMode,
  ConversionParameters,
  ConversionPolicies,
  OnExisting,
  OnUnknownOutcome,
  ResultCheck,
  OutputFile,
} from './shared/job';
export { durationMs } from './shared/duration';
export { maxWindow } from './shared/batch';
export type {
  BatchManifest,
  BatchPlan,
  BatchSources,
  ConversionBatchInput,
  ConversionSweepResult,
  SourceMoves,
} from './shared/batch';
export type {
  CostEstimate,
  PlannedRows,
  UnmovedSources,
  BatchState,
  ConversionBatchResult,
} from './shared/batch-state';
export { conversionJobType, defaultDeploymentName, defaultTaskQueue } from './shared/names';
export {
  endOfBatch,
  isNoticeSecret,
  isNoticeUrl,
  noticeSecretProblem,
  noticeTypes,
  noticeUrlProblem,
} from './shared/notices';
export type { NoticeData } from './shared/notices';
export {
  extensionFromName,
  formatNameOf,
  mergeParameters,
  parametersKey,
  problemOfParameters,
  readParameter,
} from './shared/parameters';
export {
  conversionModes,
  defaultOnExisting,
  onExistingChoices,
  policies,
  unconvertibleChoices,
} from './shared/policies';
export type { DurationPolicy, OptionPolicy, Policy, PolicyName, Unconvertible } from './shared/policies';
export { isTag, maxTags } from './shared/tags';
