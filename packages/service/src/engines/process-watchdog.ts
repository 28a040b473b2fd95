import { workerData } from 'node:worker_threads';
import { z } from 'zod';

/**
 * A thread beside the conversion of a process, which may be in native code or WebAssembly for long. It kills the process when that
 * needs more memory than it may, wherever the memory lies, or when the service is gone and nobody waits for the result.
 */

const checkIntervalMs = 50;

const { maxMemoryBytes, servicePid } = z
  .object({ maxMemoryBytes: z.number(), servicePid: z.number() })
  .parse(workerData);

setInterval(() => {
  if (process.memoryUsage.rss() > maxMemoryBytes || process.ppid !== servicePid) process.kill(process.pid, 'SIGKILL');
}, checkIntervalMs);
