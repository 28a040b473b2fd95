/** Finds, obtains and runs a Temporal dev server, so that nothing has to be installed first. */
export { adoptTemporalServer } from './adopt-server';
export type { AdoptOptions } from './adopt-server';
export { defaultCacheDir } from './default-cache-dir';
export { TemporalServerError } from './errors';
export type { TemporalServerErrorCode } from './errors';
export { freePort, portNear } from './free-port';
export { obtainTemporalCli, obtainTestServer } from './obtain';
export type { BinaryOrigin, ObtainedBinary, ObtainOptions } from './obtain';
export { acquireProcessLock } from './process-lock';
export type { ProcessLock, ProcessLockOptions } from './process-lock';
export type { RunningTemporalServer, ServerExit } from './running-server';
export { readServerRecord } from './server-record';
export type { ServerRecord } from './server-record';
export { startTemporalServer } from './start-server';
export type { StartOptions } from './start-server';
