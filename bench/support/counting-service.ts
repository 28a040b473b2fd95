import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A conversion service for measurements, in a process of its own. */
export interface CountingService {
  readonly baseUrl: string;
  /** Requests answered since the start. */
  requests(): Promise<number>;
  stop(): void;
}

/** `program` tells its port first, and at each message after that how many requests it has answered. */
export async function startCountingService(program: string, args: readonly string[] = []): Promise<CountingService> {
  const child = fork(program, args);
  const [port] = (await once(child, 'message')) as [number];
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    async requests() {
      child.send('count');
      const [count] = (await once(child, 'message')) as [number];
      return count;
    },
    stop: () => void child.kill(),
  };
}
