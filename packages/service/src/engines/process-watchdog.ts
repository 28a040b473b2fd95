import { readdirSync, readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { z } from 'zod';

/**
 * A thread beside the conversion, which may block its own thread in native code or WebAssembly. It kills the process, and the programs
 * that it runs, when they use more memory than they may, or when the service is gone and nobody waits for the result.
 */

const checkIntervalMs = 50;
/** Looking through all processes takes longer. */
const programsIntervalMs = 500;
const pageBytes = 4096;

const { maxMemoryBytes, parentPid } = z.object({ maxMemoryBytes: z.number(), parentPid: z.number() }).parse(workerData);

let programsBytes = 0;

setInterval(() => (programsBytes = bytesOfPrograms()), programsIntervalMs);
setInterval(() => {
  const bytes = process.memoryUsage.rss() + programsBytes;
  if (bytes > maxMemoryBytes || process.ppid !== parentPid) process.kill(0, 'SIGKILL');
}, checkIntervalMs);

/** What the other processes of this group have for themselves. Where there is no /proc, nobody counts. */
function bytesOfPrograms(): number {
  try {
    const group = groupOf('self');
    const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
    return others.filter((pid) => groupOf(pid) === group).reduce((sum, pid) => sum + privateBytes(pid), 0);
  } catch {
    return 0;
  }
}

function groupOf(pid: string): string | undefined {
  // The name of the program stands in parentheses, and may hold any letter.
  return /^.*\) \S+ \S+ (\S+)/s.exec(readProc(pid, 'stat'))?.[1];
}

function privateBytes(pid: string): number {
  const [, resident = 0, shared = 0] = readProc(pid, 'statm').split(' ').map(Number);
  return (resident - shared) * pageBytes;
}

/** Empty for a process that has ended meanwhile. */
function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
