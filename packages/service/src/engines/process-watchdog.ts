import { lstatSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { z } from 'zod';
import { watchdogChannel, type WatchdogWord } from './watchdog-word';

/**
 * A thread beside the conversion, which may block its own thread in native code or WebAssembly. It kills the process, and the programs
 * that it runs, when they use more memory or write more to the disk than they may, after it has told which; and when the service is
 * gone and nobody waits for the result.
 */

const checkIntervalMs = 50;
/** Looking through all processes and files takes longer. */
const thoroughIntervalMs = 500;
const pageBytes = 4096;
const blockBytes = 512;

const { maxMemoryBytes, maxWrittenBytes, parentPid } = z
  .object({ maxMemoryBytes: z.number(), maxWrittenBytes: z.number(), parentPid: z.number() })
  .parse(workerData);

let programsBytes = 0;

setInterval(() => {
  programsBytes = bytesOfPrograms();
  const written = bytesWritten();
  if (written > maxWrittenBytes) end({ exceeded: 'disk', bytes: written });
}, thoroughIntervalMs);
setInterval(() => {
  const bytes = process.memoryUsage.rss() + programsBytes;
  if (bytes > maxMemoryBytes) end({ exceeded: 'memory', bytes });
  if (process.ppid !== parentPid) process.kill(0, 'SIGKILL');
}, checkIntervalMs);

/** Not as a message of the process, whose own thread may be busy. */
function end(word: WatchdogWord): void {
  try {
    writeSync(watchdogChannel, JSON.stringify(word));
  } finally {
    process.kill(0, 'SIGKILL');
  }
}

/** In the folder of this process, without the copy of the input. */
function bytesWritten(): number {
  try {
    return readdirSync('.', { recursive: true, encoding: 'utf8' })
      .filter((name) => !/^conversion\/input\.[^/]*$/.test(name))
      .reduce((sum, name) => sum + bytesOf(name), 0);
  } catch {
    // A folder that was removed in between.
    return 0;
  }
}

/** What it takes of the disk: a file with holes is shorter than it says. */
function bytesOf(file: string): number {
  return (lstatSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * blockBytes;
}

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
