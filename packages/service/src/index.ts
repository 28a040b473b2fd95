/** The embedded conversion service: the document's server side. */
export type { ServiceApp } from './accounts/account';
export type { CallbackOptions } from './callbacks/options';
export { SettingsFileError } from './shared/checked-toml';
export { createServiceMetrics, type ServiceMetrics } from './shared/service-metrics';
export { type ConversionService, type ConversionServiceOptions, startConversionService } from './service';
