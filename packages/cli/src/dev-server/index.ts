/** Finds, obtains and runs a Temporal dev server, so that nothing has to be installed first. */
export { defaultCacheDir } from './binary-cache';
export { TemporalServerError } from './errors';
export { freePort, portNear } from './free-port';
export { obtainTemporalCli, obtainTestServer } from './obtain';
export type { ObtainOptions } from './obtain';
export { acquireProcessLock } from './process-lock';
export type { ProcessLock } from './process-lock';
export { adoptTemporalServer, readServerRecord } from './running-server';
export type { RunningTemporalServer, ServerRecord } from './running-server';
export { startTemporalServer } from './start-server';
export type { StartOptions } from './start-server';
