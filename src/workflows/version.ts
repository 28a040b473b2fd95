/** In every bundle of these workflows, where a worker's plugin looks for it. The version is that of the package. */
export const conversionWorkflowsVersion = 'temporal-file-conversion/workflows 0.1.0';
