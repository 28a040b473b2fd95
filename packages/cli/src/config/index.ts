/** The configuration: one TOML file and the environment, checked once. */
export { readAppToken } from './app-token';
export type { AppProfile, Config, TokenSource } from './config';
export { describeConfig } from './describe-config';
export type { ConfigRow } from './describe-config';
export type { Environment } from './environment-layer';
export { ConfigError } from './errors';
export { snakeCase } from './key-spelling';
export type { Origin } from './layers';
export { loadConfig } from './load-config';
export type { LoadConfigOptions, LoadedConfig } from './load-config';
export { embeddedApp } from './schema';
export { Secret } from './secret';
