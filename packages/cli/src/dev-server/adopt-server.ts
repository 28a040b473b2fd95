import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLineOf, endProcess } from './processes';
import { answers } from './readiness';
import { stopGraceMs } from './running-server';
import type { RunningTemporalServer, ServerExit } from './running-server';
import { removeServerRecord } from './server-record';

export interface AdoptOptions {
  pid: number;
  address: string;
  uiUrl?: string | undefined;
  dbFilename: string;
  /** Default `default`. */
  namespace?: string | undefined;
}

const answerTimeoutMs = 5_000;
const watchDelayMs = 250;

/**
 * The server that an earlier process started on this database and left behind when it was killed; `undefined` when that
 * process is gone, is another program by now, or does not answer.
 */
export async function adoptTemporalServer(options: AdoptOptions): Promise<RunningTemporalServer | undefined> {
  const { pid, address, uiUrl } = options;
  const dbFilename = path.resolve(options.dbFilename);
  const stillRuns = async () => (await commandLineOf(pid))?.includes(dbFilename) ?? false;
  if (!(await stillRuns())) return undefined;
  if (!(await answers(address, options.namespace ?? 'default', answerTimeoutMs))) return undefined;

  let stopping = false;
  const exited = (async (): Promise<ServerExit> => {
    // Not our child: nobody tells us when it ends.
    while (await stillRuns()) await sleep(watchDelayMs, undefined, { ref: false });
    removeServerRecord(dbFilename);
    return { code: null, signal: null, expected: stopping };
  })();
  const stop = async () => {
    stopping = true;
    await endProcess(pid, { graceMs: stopGraceMs, stillRuns });
    removeServerRecord(dbFilename);
  };
  return { address, ...(uiUrl && { uiUrl }), pid, stop, exited };
}
