import { workerData } from 'node:worker_threads';
import { z } from 'zod';

/**
 * A thread beside the conversion, which may block its own thread in native code or WebAssembly. It kills the process when it uses
 * more memory than it may, in whatever heap, or when the service is gone and nobody waits for the result.
 */

const checkIntervalMs = 50;

const { maxMemoryBytes, servicePid } = z
  .object({ maxMemoryBytes: z.number(), servicePid: z.number() })
  .parse(workerData);

setInterval(() => {
  if (process.memoryUsage.rss() > maxMemoryBytes || process.ppid !== servicePid) process.kill(process.pid, 'SIGKILL');
}, checkIntervalMs);
