import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A part of a benchmark in a process of its own, so that its work is told from that of the others. */
export interface StartedChild {
  readonly process: ChildProcess;
  /** What it said once it was ready. */
  readonly first: unknown;
  ask<Answer>(question: string): Promise<Answer>;
  /** Of the process. */
  usage(): Promise<Usage>;
  /** `kill -9`. */
  stop(): Promise<void>;
}

interface Usage {
  readonly rssBytes: number;
  /** Since its start. */
  readonly cpuSeconds: number;
}

/** Starts a program that calls `asChild`. Resolves when it is ready. */
export async function startChild(program: string, options: unknown = {}): Promise<StartedChild> {
  const child = fork(program, [JSON.stringify(options)], { execArgv: ['--expose-gc'] });
  const [first] = (await once(child, 'message')) as [unknown];
  const ask = async <Answer>(question: string) => {
    child.send(question);
    const [answer] = (await once(child, 'message')) as [Answer];
    return answer;
  };
  return {
    process: child,
    first,
    ask,
    usage: () => ask('usage'),
    async stop() {
      if (child.signalCode !== null || child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * For a program that is a child, and nothing to one that only imports it: begins with its options, tells what that resolves with, and then
 * answers what it is asked. An answer of `undefined` is none.
 */
export function asChild(
  program: NodeJS.Module,
  begin: (options: never) => Promise<unknown>,
  answers: Record<string, () => unknown> = {},
): void {
  if (require.main !== program) return;
  const all: Record<string, () => unknown> = { usage, ...answers };
  process.on('message', (question) => {
    const answer = all[String(question)]?.();
    if (answer !== undefined) process.send?.(answer);
  });
  process.once('disconnect', () => process.exit());
  void begin(JSON.parse(process.argv[2] ?? '') as never).then((first) => process.send?.(first));
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { rssBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
}
