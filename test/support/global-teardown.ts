import { rm } from 'node:fs/promises';

/** Stops the server that global-setup started in this very process, and removes the folder of the run. */
export default async function endRun(): Promise<void> {
  await globalThis.testTemporalServer?.stop();
  if (globalThis.testRunFolder) await rm(globalThis.testRunFolder, { recursive: true, force: true });
}
