import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A conversion service for measurements, in a process of its own. */
export interface CountingService {
  readonly baseUrl: string;
  /** Requests answered since the start. */
  requests(): Promise<number>;
  /** CPU that its process has used. */
  cpuMs(): Promise<number>;
  stop(): void;
}

interface Counts {
  requests: number;
  cpuMs: number;
}

/** `program` tells its port first, and at each message after that its counts, by `tellCounts`. */
export async function startCountingService(program: string, args: readonly string[] = []): Promise<CountingService> {
  const child = fork(program, args);
  const [port] = (await once(child, 'message')) as [number];
  const counts = async (): Promise<Counts> => {
    child.send('counts');
    const [told] = (await once(child, 'message')) as [Counts];
    return told;
  };
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests: async () => (await counts()).requests,
    cpuMs: async () => (await counts()).cpuMs,
    stop: () => void child.kill(),
  };
}

/** For a `program`: answers whoever asks for its counts. */
export function tellCounts(requests: () => number): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ requests: requests(), cpuMs: (user + system) / 1_000 } satisfies Counts);
  });
}
