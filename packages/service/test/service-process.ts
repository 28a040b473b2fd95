import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { ConversionServiceOptions } from '../src';

/** A service in a child process, which a test can kill. */
export interface ServiceProcess {
  readonly url: string;
  readonly pid: number | undefined;
  /** Uses kill -9. */
  kill: () => Promise<void>;
}

const compiledService = path.resolve(__dirname, '../dist/index.js');
const children: ChildProcess[] = [];

export async function spawnService(options: ConversionServiceOptions): Promise<ServiceProcess> {
  // Drops every reference to the service and forces garbage collection: the service must survive that.
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

/** Call this in `afterEach` or `afterAll`. */
export function killServices(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL');
}
