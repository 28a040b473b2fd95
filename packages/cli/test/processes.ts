import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Child processes of a process by role; Linux only. */
export function childrenOf(pid: number): Map<string, number> {
  const ids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const roles = new Map<string, number>();
  for (const id of ids) {
    const role = roleOf(id);
    if (role !== undefined) roles.set(role, id);
  }
  return roles;
}

/** `temporal`, `service`, `worker` or else the command line; undefined if the process has ended since it was listed. */
function roleOf(pid: number): string | undefined {
  let words: string[];
  try {
    words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return undefined;
  }
  if (words.includes('start-dev')) return 'temporal';
  return words.find((word) => word === 'service' || word === 'worker') ?? words.join(' ');
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie counts as ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export async function untilDead(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(20);
}
