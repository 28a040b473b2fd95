/** Finds, obtains and runs a Temporal dev server, so that nothing has to be installed first. */
export { defaultCacheDir, obtainTemporalCli, obtainTestServer } from './obtain';
export type { ObtainOptions } from './obtain';
export { acquireProcessLock } from './process-lock';
export { TemporalServerError } from './processes';
export { adoptTemporalServer, readServerRecord } from './running-server';
export type { RunningTemporalServer, ServerRecord } from './running-server';
export { freePort, portNear, startTemporalServer } from './start-server';
export type { StartOptions } from './start-server';
