/** What batches share outside of their workflow: plans, files and reports. */
export { explainUnreadable } from './contents';
export { messagesOf } from './findings';
export { planDry } from './plan/dry-plan';
export { summaryOf } from './plan/planned-batch';
export type { PlannedBatch } from './plan/planned-batch';
export { askingOf } from './plan/settle-row';
export type { AskPair, FormatQuestions } from './plan/settle-row';
export { endedOf, progressText } from './model/progress';
export { leftOutOf, reportPage } from './report/report';
export type { BatchReport } from './report/report';
export { reportOf } from './report/report-of';
export { chargedTwice, leftOutLines, summariseReport } from './report/summary';
export { readRequest } from './request';
export type { KeptRequest } from './request';
export { estimateVcredits } from './prices';
export { listRuns } from './run-folders';
export type { BatchRun } from './run-folders';
export {
  asFolder,
  batchFolderOf,
  escapeQuerySigns,
  folderOf,
  isLocal,
  isOfWeb,
  isUri,
  resolveName,
  shownAsWritten,
  shownFolder,
  uriOfPath,
  within,
} from './uris';
