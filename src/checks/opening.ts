import { fork, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import path from 'node:path';
import { limitTime } from '../network/time-limit';
import { CheckNotRunError } from './errors';
import { Slots } from './slots';

/** Without a path: asks whether results of this format could be opened. */
export interface OpeningQuestion {
  path?: string;
  output: string;
}

export interface OpeningAnswer {
  /** Why the result does not open. */
  problem?: string | undefined;
  /** Why the package for this format could not be loaded. */
  missing?: string;
  /** A failure of this machine. */
  failure?: string;
  mustEnd?: boolean;
}

/** A child process can only run compiled code, as in the service; `src` and `dist` are equally deep. */
const processFile = path.resolve(__dirname, '../../dist/checks/opening-process.js');
/** Generous: a result of a few pages takes milliseconds. */
const maxMs = 120_000;

/** Opens results in a separate process, one at a time: the libraries may hang, crash or run out of memory. */
export class Opening {
  #child: ChildProcess | undefined;
  readonly #turns = new Slots(1);

  /** @throws CheckNotRunError, which says nothing about the result; the reason of `signal` */
  ask(question: OpeningQuestion, signal: AbortSignal): Promise<OpeningAnswer> {
    return this.#turns.take(() => this.#askNow(question, signal), signal);
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #askNow(question: OpeningQuestion, signal: AbortSignal): Promise<OpeningAnswer> {
    const child = (this.#child ??= this.#start());
    const limit = limitTime(signal, maxMs);
    const answer = await new Promise<OpeningAnswer>((resolve) => {
      const fail = (why: string) => resolve({ failure: `the process that opens results ${why}`, mustEnd: true });
      limit.signal.onabort = () => fail(`did not answer within ${maxMs / 1_000} seconds`);
      child.once('message', (reply) => resolve(reply as OpeningAnswer));
      child.once('error', ({ message }) => fail(`could not be asked: ${message}`));
      child.once('exit', (code, signal) => fail(`has ended with ${signal ?? `code ${code ?? 0}`}`));
      // There is no IPC channel if no more files can be opened.
      (child as Partial<ChildProcess>).send?.(question);
    });
    limit.end();
    // Late errors of a killed process are ignored.
    child.removeAllListeners().on('error', () => undefined);
    if (answer.mustEnd) this.close();
    signal.throwIfAborted();
    if (answer.failure !== undefined) throw new CheckNotRunError(answer.failure, true);
    return answer;
  }

  #start(): ChildProcess {
    // The process opens untrusted files, so it gets nothing from the environment.
    const child = fork(processFile, [], { env: { HOME: homedir() }, stdio: 'ignore', execArgv: [] });
    child.unref();
    child.channel?.unref();
    return child;
  }
}
