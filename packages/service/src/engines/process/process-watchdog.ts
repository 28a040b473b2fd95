import { lstatSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { z } from 'zod';
import { watchdogChannel, type WatchdogWord } from './watchdog-word';

/**
 * A thread beside the conversion, whose own thread may be blocked in native code or WebAssembly. It kills the process and its programs
 * when they use too much memory or write too much, after reporting which; and when the service is gone, because nobody waits for the
 * result.
 */

const checkIntervalMs = 50;
/** Scanning all processes and files takes longer. */
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

/** Not a message of the process, whose own thread may be busy. */
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
    // A folder was removed during the scan.
    return 0;
  }
}

/** Occupied blocks, because a sparse file is smaller than its length. */
function bytesOf(file: string): number {
  return (lstatSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * blockBytes;
}

/** Private memory of the other processes in this group; 0 on systems without /proc. */
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
  // The name of the program is in parentheses, and may contain any character.
  return /^.*\) \S+ \S+ (\S+)/s.exec(readProc(pid, 'stat'))?.[1];
}

function privateBytes(pid: string): number {
  const [, resident = 0, shared = 0] = readProc(pid, 'statm').split(' ').map(Number);
  return (resident - shared) * pageBytes;
}

/** Empty if the process has ended. */
function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
