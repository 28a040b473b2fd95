import { execFileSync } from 'node:child_process';

function allProcesses() {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, state, args = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return state === undefined || state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent), args }];
  });
}

/** Ids of all descendants of a process whose command line matches. */
export function processesBelow(ancestor: number, like: RegExp): number[] {
  const all = allProcesses();
  const isBelow = ({ parent }: { parent: number }): boolean => {
    if (parent === ancestor) return true;
    const above = all.find(({ pid }) => pid === parent);
    return above !== undefined && isBelow(above);
  };
  return all.filter((each) => like.test(each.args) && isBelow(each)).map(({ pid }) => pid);
}

/** Command line of a conversion process, without its confinement wrapper. */
export const conversionProcess = /^\S*node [^]*conversion-process\.js/;

export const isAlive = (pid: number): boolean => allProcesses().some((each) => each.pid === pid);
