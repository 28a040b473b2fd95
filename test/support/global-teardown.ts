import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';

/** Stops the server that global-setup started in this process and the stack that tests share, and removes the folder of the run. */
export default async function endRun(): Promise<void> {
  const folder = globalThis.testRunFolder;
  if (folder) await stopSharedStack(path.join(folder, 'shared-stack/up.json'));
  await globalThis.testTemporalServer?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
}

/** The first test that needs the stack starts it, so there may be none. */
async function stopSharedStack(said: string): Promise<void> {
  const text = await readFile(said, 'utf8').catch(() => '');
  if (text === '') return;
  const { pid } = JSON.parse(text) as { pid: number };
  try {
    process.kill(pid, 'SIGINT');
    for (;;) {
      process.kill(pid, 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch {
    // It has ended.
  }
}
