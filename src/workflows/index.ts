/** Workflow functions, and what starts one as a child: add `export * from 'temporal-file-conversion/workflows'` to your own workflows file. */
export { conversionChildOptions } from './child-options';
export { conversionJob } from './conversion-job';
export { conversionBatch } from './conversion-batch';
export { conversionSweep } from './conversion-sweep';
