/** The embedded conversion service: the document's server side. */
export { AccountsFileError } from './accounts/accounts-file';
export { openAdministration, type ServiceAdministration, type TaskRow } from './administration';
export { formatTime } from './tasks/answer';
export type { ServiceApp } from './accounts/account';
export type { CallbackOptions } from './callbacks/callback-options';
export { type EmbeddedApp, ensureEmbeddedApp } from './accounts/embedded-app';
export { FaultsFileError } from './faults/faults';
export type { ServiceMetrics } from './shared/service-metrics';
export { type ConversionService, type ConversionServiceOptions, startConversionService } from './service';
