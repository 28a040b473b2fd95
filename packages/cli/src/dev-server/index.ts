/** Finds or downloads a Temporal dev server and runs it, so that users need not install one. */
export { defaultCacheDir } from './cache-dir';
export { obtainTemporalCli } from './obtain';
export type { ObtainOptions } from './obtain';
export { tryProcessLock } from './process-lock';
export { TemporalServerError } from './processes';
export { endLeftOverServer } from './running-server';
export type { RunningTemporalServer } from './running-server';
export { freePort, portNear, startTemporalServer } from './start-server';
export type { ServerOptions as StartOptions } from './start-server';
