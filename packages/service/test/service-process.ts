import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { ConversionServiceOptions } from '../src';

/** A service in a process of its own, so that it can be killed. */
export interface ServiceProcess {
  readonly url: string;
  readonly pid: number | undefined;
  /** With kill -9. */
  kill: () => Promise<void>;
}

const compiledService = path.resolve(__dirname, '../dist/index.js');
const children: ChildProcess[] = [];

export async function spawnService(options: ConversionServiceOptions): Promise<ServiceProcess> {
  // Nothing in the process holds on to the service, and what the garbage collector can take it has taken.
  const script = `require(${JSON.stringify(compiledService)}).startConversionService(${JSON.stringify(options)})
    .then(({ url }) => setTimeout(() => { gc(); setTimeout(() => { gc(); console.log(url); }, 50); }, 50));`;
  const child = spawn(process.execPath, ['--expose-gc', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url,
    pid: child.pid,
    kill: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** To be called in `afterEach` or `afterAll`. */
export function killServices(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL');
}
