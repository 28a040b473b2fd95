/** To register these, add `export * from 'temporal-file-conversion/workflows'` to your own workflows file. */
export { conversionChildOptions, executeConversion } from './own-workflows';
export type { ConversionActivities } from '../job/activities';
export type { BatchActivities } from '../batch/model/activities';
export { conversionWorkflowsVersion } from './version';
export { conversionJob } from './job/conversion-job';
export { conversionBatch } from './batch/conversion-batch';
export { conversionSweep } from './sweep/conversion-sweep';
export { conversionAppNotice } from './notice/conversion-app-notice';
export { conversionNotice } from './notice/conversion-notice';
