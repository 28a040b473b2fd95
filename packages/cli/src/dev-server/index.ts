/** Finds, obtains and runs a Temporal dev server, so that nothing has to be installed first. */
export { defaultCacheDir, obtainTemporalCli } from './obtain';
export type { ObtainOptions } from './obtain';
export { tryProcessLock } from './process-lock';
export { TemporalServerError } from './processes';
export { endLeftOverServer } from './running-server';
export type { RunningTemporalServer } from './running-server';
export { freePort, portNear, startTemporalServer } from './start-server';
export type { ServerOptions as StartOptions } from './start-server';
