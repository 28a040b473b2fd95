/** To register these, add `export * from 'temporal-file-conversion/workflows'` to your own workflows file. */
export { conversionChildOptions } from './child-options';
export { conversionJob } from './conversion-job';
export { conversionBatch } from './conversion-batch';
export { conversionSweep } from './conversion-sweep';
