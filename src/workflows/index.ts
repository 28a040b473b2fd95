/** To register these, add `export * from 'temporal-file-conversion/workflows'` to your own workflows file. */
export { conversionChildOptions } from './child-options';
export { conversionJob } from './job/conversion-job';
export { conversionBatch } from './batch/conversion-batch';
export { conversionSweep } from './sweep/conversion-sweep';
