/** The worker's plugin searches bundles for this text. Its version is that of the package. */
export const conversionWorkflowsVersion = 'temporal-file-conversion/workflows 0.1.0';
