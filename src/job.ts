/** Types, policies and names of jobs and batches. Has no dependencies, and works in workflows too. */
export { defined } from './job/defined';
export { credentialsProblem, holdsCredentials, lastSegment, withoutSecrets } from './job/types';
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
} from './job/types';
export { durationMs } from './job/duration';
export { maxWindow } from './batch/model/types';
export type {
  BatchManifest,
  BatchPlan,
  BatchSources,
  ConversionBatchInput,
  ConversionSweepResult,
  SourceMoves,
} from './batch/model/types';
export type { CostEstimate, PlannedRows, UnmovedSources, BatchState, ConversionBatchResult } from './batch/model/state';
export { searchAttributeTypes } from './job/search-attribute-types';
export { conversionJobType, defaultDeploymentName, defaultTaskQueue, noticeTypes } from './job/names';
export { endOfBatch, isNoticeSecret, isNoticeUrl, noticeSecretProblem, noticeUrlProblem } from './batch/model/notices';
export type { NoticeData } from './batch/model/notices';
export {
  extensionFromName,
  formatNameOf,
  mergeParameters,
  parametersKey,
  problemOfParameters,
  readParameter,
} from './job/parameters';
export { conversionModes, defaultOnExisting, onExistingChoices, policies, unconvertibleChoices } from './job/policies';
export type { DurationPolicy, OptionPolicy, Policy, PolicyName, Unconvertible } from './job/policies';
export { isTag, maxTags } from './job/tags';
