import { packageFor, problemOfOpened } from './opened';
import type { OpeningAnswer, OpeningQuestion } from './opening';

/** Main program of the process that opens results, one after the other. It ends with its parent. */
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

/** Restart threshold: WebAssembly memory never shrinks. */
const maxBytes = 512 * 1024 * 1024;

process.on('message', (question: OpeningQuestion) => {
  void answer(question)
    .catch((error: unknown): OpeningAnswer => ({ failure: (error as Error).message }))
    .then((opened) => process.send?.({ ...opened, mustEnd: process.memoryUsage.rss() > maxBytes }));
});

async function answer({ path, output }: OpeningQuestion): Promise<OpeningAnswer> {
  try {
    packageFor(output)?.load();
  } catch (error) {
    return { missing: (error as Error).message.split('\n')[0] ?? '' };
  }
  return path === undefined ? {} : { problem: await problemOfOpened(path, output) };
}
