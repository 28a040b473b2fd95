import { fork, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import path from 'node:path';
import { limitTime } from '../network/time-limit';
import { CheckNotRunError } from './errors';
import { Turns } from './turns';

/** Without a path: whether results of the format could be opened. */
export interface OpeningQuestion {
  path?: string;
  output: string;
}

export interface OpeningAnswer {
  /** What is wrong with the result. */
  problem?: string | undefined;
  /** Why the package could not be loaded that opens such results. */
  missing?: string;
  /** What went wrong on this machine. */
  failure?: string;
  isWorn?: boolean;
}

/** As in the service, a process can only run compiled code; `src` and `dist` lie equally deep. */
const processFile = path.resolve(__dirname, '../../dist/checks/opening-process.js');
/** A result of a few pages takes milliseconds. */
const longestMs = 120_000;

/** Opens results in a separate process, one at a time: the library may hang, crash or run out of memory. */
export class Opening {
  #child: ChildProcess | undefined;
  readonly #turns = new Turns(1);

  /** @throws CheckNotRunError, which says nothing of the result; the reason of `signal` */
  ask(question: OpeningQuestion, signal: AbortSignal): Promise<OpeningAnswer> {
    return this.#turns.take(() => this.#askNow(question, signal), signal);
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #askNow(question: OpeningQuestion, signal: AbortSignal): Promise<OpeningAnswer> {
    const child = (this.#child ??= this.#start());
    const limit = limitTime(signal, longestMs);
    const answer = await new Promise<OpeningAnswer>((resolve) => {
      const fail = (why: string) => resolve({ failure: `the process that opens results ${why}`, isWorn: true });
      limit.signal.onabort = () => fail(`did not answer within ${longestMs / 1_000} seconds`);
      child.once('message', (told) => resolve(told as OpeningAnswer));
      child.once('error', ({ message }) => fail(`could not be asked: ${message}`));
      child.once('exit', (code, signal) => fail(`has ended with ${signal ?? `code ${code ?? 0}`}`));
      // It has no channel where no more files can be opened.
      (child as Partial<ChildProcess>).send?.(question);
    });
    limit.end();
    // A killed process has nothing more to say.
    child.removeAllListeners().on('error', () => undefined);
    if (answer.isWorn) this.close();
    signal.throwIfAborted();
    if (answer.failure !== undefined) throw new CheckNotRunError(answer.failure, true);
    return answer;
  }

  #start(): ChildProcess {
    // A process that opens untrusted files gets nothing of the environment.
    const child = fork(processFile, [], { env: { HOME: homedir() }, stdio: 'ignore', execArgv: [] });
    child.unref();
    child.channel?.unref();
    return child;
  }
}
