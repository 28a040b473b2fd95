import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defaultCacheDir, obtainTemporalCli, startTemporalServer } from '../../packages/cli/src/dev-server';

export interface Setting {
  readonly folder: string;
  /** Stops it at the end, before what was started earlier. */
  readonly owns: <Started extends { stop(): unknown }>(started: Started) => Started;
}

export interface TemporalSetting extends Setting {
  readonly temporalAddress: string;
  readonly temporal: Client;
}

/** Measures in a folder of its own, and prints the figures as the last line, when everything has been stopped. */
export async function measure(run: (setting: Setting) => Promise<object>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const owned: { stop(): unknown }[] = [];
  const owns = <Started extends { stop(): unknown }>(started: Started) => {
    owned.push(started);
    return started;
  };
  let figures: object;
  try {
    figures = await run({ folder, owns });
  } finally {
    for (const each of owned.reverse()) await each.stop();
    await rm(folder, { recursive: true, force: true });
  }
  console.log(JSON.stringify(figures));
}

/**
 * The same with a dev server of this run alone. Jobs are listed by their search attributes, as in production.
 *
 * `onDisk`: for more jobs than memory has room for. Default: in memory.
 */
export function measureWithTemporal(
  run: (setting: TemporalSetting) => Promise<object>,
  { onDisk = false } = {},
): Promise<void> {
  return measure(async ({ folder, owns }) => {
    const { env } = process;
    const cliPath = await obtainTemporalCli({ env, cacheDir: defaultCacheDir(env, os.homedir()) });
    const dbFilename = onDisk ? path.join(folder, 'temporal.db') : undefined;
    const server = owns(await startTemporalServer({ cliPath, env, uiPort: false, dbFilename, synchronous: 'off' }));
    const connection = await Connection.connect({ address: server.address });
    owns({ stop: () => connection.close() });
    const temporal = new Client({ connection });
    return run({ folder, owns, temporalAddress: server.address, temporal });
  });
}
