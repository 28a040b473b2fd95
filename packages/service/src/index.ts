/** The embedded conversion service: the document's server side. */
export { openAdministration, type ServiceAdministration, type TaskRow } from './administration';
export { formatTime } from './tasks/answer';
export type { ServiceApp } from './accounts/account';
export type { CallbackOptions } from './callbacks/callback-queue';
export { ensureEmbeddedApp } from './accounts/embedded-app';
export { SettingsFileError } from './shared/checked-toml';
export type { ServiceMetrics } from './shared/service-metrics';
export { type ConversionService, type ConversionServiceOptions, startConversionService } from './service';
