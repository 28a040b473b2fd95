import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const built = path.resolve(__dirname, '../../dist/dev-server');

/** A child process that runs a script against the built package (`npm run build`). */
export class ChildProgram {
  readonly process: ChildProcess;
  readonly #lines: string[] = [];
  #errors = '';
  #arrived: () => void = () => undefined;

  /** In the script, `temporal` is the module under test, and `print` sends a line to `nextLine`. */
  constructor(script: string, nodeOptions: string[] = []) {
    const program = `
      const temporal = require(${JSON.stringify(built)});
      const print = (line) => process.stdout.write(line + '\\n');
      (async () => { ${script} })().catch((error) => { console.error(error); process.exitCode = 1; });`;
    this.process = spawn(process.execPath, [...nodeOptions, '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    if (this.process.stdout === null) throw new Error('The child has no output.');
    createInterface({ input: this.process.stdout }).on('line', (line) => {
      this.#lines.push(line);
      this.#arrived();
    });
    this.process.once('exit', () => this.#arrived());
  }

  /** @throws if the child ends without printing another line. */
  async nextLine(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      if (this.process.exitCode !== null || this.process.signalCode !== null) {
        throw new Error(`The child ended (${this.process.exitCode ?? this.process.signalCode ?? ''}): ${this.#errors}`);
      }
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exited = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exited;
  }
}
