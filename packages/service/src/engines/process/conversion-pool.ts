import { type ChildProcess, fork } from 'node:child_process';
import { constants, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { constants as system, homedir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { isOutOfSpace, messageOf, outOfSpaceMessage } from '../../shared/caught';
import { confinements } from './confinement';
import { showBytes } from '../../shared/limits';
import type { Word } from '../formats';
import {
  type ConversionOutcome,
  conversionOutcomeSchema,
  type EngineRequest,
  triesByEnd,
  wroteTooMuch,
} from '../conversion';
import { watchdogChannel, type WatchdogWord, watchdogWordSchema } from './watchdog-word';

/** How long an idle process is kept before it is ended to free its memory. The last idle one stays. */
const idleTimeoutMs = 60_000;

const warmingMs = 30_000;

/** Prefix of the process folders. Cleanup touches nothing else that lies in the folder of the pool. */
const processPrefix = 'process-';
const ownFolderName = new RegExp(`^${processPrefix}\\w{6}$`);

export type PoolOutcome =
  | ConversionOutcome
  /** The pool was closed during the conversion, which has to run again. */
  | { status: 'interrupted' };

interface PoolOptions {
  maxMemoryBytes: number;
  /** Limit for what one conversion writes to the disk. */
  maxWrittenBytes: number;
  /** Where conversions work; on the disk of the files, since results are renamed. Leftovers of an earlier service are removed. */
  folder: string;
}

/**
 * A pool of conversion processes. The first one starts with the first conversion (or `warm`), so that the service itself starts at once,
 * and then stays warm. They are processes, not threads, because only killing a process ends native code and frees its memory, and because
 * a crashing engine then takes down nothing else.
 */
export class ConversionPool {
  readonly #options: PoolOptions;
  readonly #all = new Set<ConversionProcess>();
  readonly #idle: { process: ConversionProcess; timer: NodeJS.Timeout }[] = [];
  #warmed: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    if (lstatSync(options.folder).isSymbolicLink()) throw new Error(`${options.folder} is a link; remove it`);
    for (const name of readdirSync(options.folder).filter((each) => ownFolderName.test(each))) {
      rmSync(path.join(options.folder, name), { recursive: true, force: true });
    }
  }

  /**
   * Starts the first process ahead of a conversion that is expected soon, and converts one word in it: the first conversion of a process
   * takes a second longer. `convert` waits for it. Errors are ignored, because the real conversion will report them.
   */
  warm(word: Word): void {
    const inputPath = path.join(this.#options.folder, 'word.md');
    const outputPath = `${inputPath}.out`;
    const files = { inputPath, outputPath, timeoutMs: warmingMs };
    // At once: what the caller loads next blocks this thread, and the process could start meanwhile.
    writeFileSync(inputPath, 'word\n');
    this.#warmed = this.#convert({ ...word, ...files })
      .finally(() => Promise.all([inputPath, outputPath].map((file) => rm(file, { force: true }))))
      .catch(() => undefined);
  }

  /** Converts one file. Never throws: whatever happens to the process is an outcome. */
  async convert(request: EngineRequest): Promise<PoolOutcome> {
    await this.#warmed;
    return this.#convert(request);
  }

  async #convert(request: EngineRequest): Promise<PoolOutcome> {
    if (this.#closed) return { status: 'interrupted' };
    let process: ConversionProcess;
    try {
      process = this.#take(request.route.engine);
    } catch (error) {
      return { retired: true, ...brokenBy(error) };
    }
    const ending = await process.convert(request);
    if (this.#isClosed()) return { status: 'interrupted' };
    if (ending.by === 'answer' && !ending.outcome.retired) this.#release(process);
    else await this.#end(process);
    return this.#describe(ending, request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#idle) clearTimeout(timer);
    await Promise.all([...this.#all].map((process) => this.#end(process)));
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  /**
   * Prefers an idle process that has already loaded the engine, which takes seconds for some engines; among those the one with the fewest
   * engines, and then the one used last, so that the others can time out.
   */
  #take(engine: string): ConversionProcess {
    const cost = ({ loaded }: ConversionProcess) => (loaded.has(engine) ? loaded.size : Infinity);
    while (this.#idle.length > 0) {
      const least = Math.min(...this.#idle.map(({ process }) => cost(process)));
      const [idle] = this.#idle.splice(
        this.#idle.findLastIndex(({ process }) => cost(process) === least),
        1,
      );
      if (idle === undefined) break;
      clearTimeout(idle.timer);
      if (!idle.process.hasEnded) return idle.process;
      void this.#end(idle.process);
    }
    const started = new ConversionProcess(this.#options);
    this.#all.add(started);
    return started;
  }

  #release(process: ConversionProcess): void {
    const timer = setTimeout(() => this.#retire(process), idleTimeoutMs).unref();
    this.#idle.push({ process, timer });
  }

  #retire(process: ConversionProcess): void {
    if (this.#idle.length <= 1) return;
    const index = this.#idle.findIndex((idle) => idle.process === process);
    if (index !== -1) this.#idle.splice(index, 1);
    void this.#end(process);
  }

  async #end(process: ConversionProcess): Promise<void> {
    await process.kill();
    this.#all.delete(process);
  }

  #describe(ending: ProcessEnding, { timeoutMs }: EngineRequest): ConversionOutcome {
    if (ending.by === 'answer') return ending.outcome;
    const failed = (message: string) => ({ retired: true, status: 'failed' as const, message });
    const broken = (message: string) => ({ retired: true, status: 'broken' as const, message });
    if (ending.by === 'timeout') {
      const message = `The conversion took longer than ${timeoutMs / 1000} s and was ended, the second time while no other ran. Split the file, or make it smaller.`;
      return { ...failed(message), end: 'timedOut' };
    }
    const { maxMemoryBytes, maxWrittenBytes } = this.#options;
    const { word, output, signal } = ending;
    if (word?.exceeded === 'disk') return failed(wroteTooMuch(maxWrittenBytes));
    if (word ?? (signal === 'SIGABRT' && /memory/i.test(output))) {
      const had = word ? `it had ${showBytes(word.bytes)}` : 'it got no more';
      return failed(
        `The conversion needs more than the ${showBytes(maxMemoryBytes)} of memory that it may use: ${had} and was ended. Split the file, or make it smaller.`,
      );
    }
    if (signal === 'SIGKILL') {
      const message = `Something on this machine killed the conversion ${triesByEnd.killed} times, perhaps for want of memory. Give it more memory, or lower conversion_concurrency.`;
      return { ...broken(message), end: 'killed' };
    }
    if (signal && crashes.has(signal)) {
      const message = `The engine crashed on this file twice (${signal}); the file may be damaged.`;
      return { ...failed(message), end: 'crashed' };
    }
    return broken(
      `The conversion process ended unexpectedly (${ending.reason}): the machine may be short of files, memory or processes, or the service may have to be installed again.`,
    );
  }
}

const crashes = new Set<NodeJS.Signals>(['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

function brokenBy(error: unknown): { status: 'broken'; message: string } {
  return { status: 'broken', message: isOutOfSpace(error) ? outOfSpaceMessage : messageOf(error) };
}

/**
 * Always the compiled file: a child process cannot run the TypeScript that tests import. `src` and `dist` are equally deep, so the path
 * is right from both.
 */
const processFile = path.resolve(__dirname, '../../../dist/engines/process/conversion-process.js');

type ProcessEnding =
  | { by: 'answer'; outcome: ConversionOutcome }
  | { by: 'timeout' }
  | {
      by: 'exit';
      signal: NodeJS.Signals | null;
      reason: string;
      output: string;
      word?: WatchdogWord | undefined;
    };

/** The signal behind an exit code of 128 + n, which is how shells and wrappers report the death of their child. */
function signalOf(code: number | null): NodeJS.Signals | undefined {
  const names = Object.keys(system.signals) as NodeJS.Signals[];
  return names.find((name) => code === 128 + system.signals[name]);
}

/** The lowest file size limit, because programs need room for profiles and caches. A lower `maxWrittenBytes` is enforced after writing. */
const minFileBytes = 64 * 1024 * 1024;

/** Command prefix with which any program is killed when it writes a file beyond the limit. */
function limitOfFiles(bytes: number): string[] {
  // POSIX counts in blocks of 512 bytes. A lower limit that is already in force stays.
  return ['/bin/sh', '-c', 'ulimit -f "$0" 2>/dev/null; exec "$@"', String(Math.ceil(bytes / 512))];
}

const keptLetters = 4_000;

function endOf(stream: unknown): () => string {
  let text = '';
  if (stream instanceof Readable) {
    stream.setEncoding('utf8').on('data', (more: string) => (text = (text + more).slice(-keptLetters)));
  }
  return () => text;
}

function wordIn(text: string): WatchdogWord | undefined {
  try {
    return watchdogWordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** A process that converts one file at a time. It sees its own folder, and as few other files as the confinement of the machine allows. */
class ConversionProcess {
  readonly #folder: string;
  /** The path of the folder as the engine sees it. Fields of documents can print it, so a sealed process gets a neutral one. */
  readonly #seenAs: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly loaded = new Set<string>();
  #settle: ((ending: ProcessEnding) => void) | undefined;
  /** Set as soon as the process must not be used again. */
  #ended: Exclude<ProcessEnding, { by: 'answer' }> | undefined;

  constructor({ maxMemoryBytes, maxWrittenBytes, folder }: PoolOptions) {
    this.#folder = mkdtempSync(path.join(folder, processPrefix));
    const [{ wrap, isSealed }] = confinements();
    this.#seenAs = isSealed ? '/conversions' : this.#folder;
    // Half of the memory for the JavaScript heap: engines use most of theirs outside it.
    const heapMiB = Math.max(64, Math.floor(maxMemoryBytes / 2 / 1024 / 1024));
    // V8 marks the whole heap whenever pandoc's memory grows; a concurrent marking thread costs a fifth more CPU.
    const node = [process.execPath, `--max-old-space-size=${heapMiB}`, '--no-concurrent-marking'];
    const limited = [...limitOfFiles(Math.max(maxWrittenBytes, minFileBytes)), ...node];
    const [execPath = '', ...execArgv] = wrap(limited, this.#folder, this.#seenAs);
    const parameters = [maxMemoryBytes, maxWrittenBytes, isSealed ? 1 : process.pid].map(String);
    this.#child = fork(processFile, parameters, {
      execPath,
      execArgv,
      cwd: this.#folder,
      // Code that works on untrusted files gets no environment but HOME, for user fonts.
      env: { HOME: homedir(), TMPDIR: this.#seenAs },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      // Its own process group: the programs that it starts are killed with it, and Ctrl-C reaches only the service, which decides what
      // happens to its conversions.
      detached: true,
    });
    // A child that could not start for want of file descriptors has no streams.
    const { stderr, stdio } = this.#child as Partial<ChildProcess>;
    const [output, word] = [endOf(stderr), endOf(stdio?.[watchdogChannel])];
    this.#exited = new Promise((resolve) => {
      const end = (reason: string, signal: NodeJS.Signals | null = null): void => {
        this.#ended ??= { by: 'exit', signal, reason, output: output(), word: wordIn(word()) };
        this.#settle?.(this.#ended);
        resolve();
      };
      // `close`, not `exit`: all output has been read by then.
      this.#child.once('close', (code, signal) =>
        end(signal ?? `exit code ${code ?? '?'}`, signal ?? signalOf(code) ?? null),
      );
      // Without a pid the process never started, and no `close` follows.
      this.#child.on('error', (error) => {
        if (this.#child.pid === undefined) end(messageOf(error));
      });
    });
    this.#child.on('message', (message) => {
      if (this.#ended) return;
      const { data: outcome } = conversionOutcomeSchema.safeParse(message);
      if (outcome) {
        this.#settle?.({ by: 'answer', outcome });
        return;
      }
      // Any other message means that a document has taken over its engine.
      this.#ended = { by: 'exit', signal: null, reason: 'it did not answer as it should', output: '' };
      this.#killGroup();
    });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Converts one file. Once this resolves, the process is idle again, or dead. */
  async convert(request: EngineRequest): Promise<ProcessEnding> {
    this.loaded.add(request.route.engine);
    const folder = path.join(this.#folder, 'conversion');
    const input = `input.${request.inputFormat.split('-', 1)[0] ?? ''}`;
    const seenAs = path.join(this.#seenAs, 'conversion');
    const inside = { ...request, inputPath: path.join(seenAs, input), outputPath: path.join(seenAs, 'output') };
    try {
      await mkdir(folder);
      // A copy, so that the engine cannot change the upload.
      await copyFile(request.inputPath, path.join(folder, input), constants.COPYFILE_FICLONE);
      const ending = await this.#ask(inside);
      if (ending.by === 'answer' && ending.outcome.status === 'successful') {
        await takeResult(path.join(folder, 'output'), request.outputPath);
      }
      return ending;
    } catch (error) {
      return { by: 'answer', outcome: { retired: true, ...brokenBy(error) } };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async kill(): Promise<void> {
    this.#killGroup();
    await this.#exited;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ask(request: EngineRequest): Promise<ProcessEnding> {
    if (this.#ended) return this.#ended;
    const clock = setTimeout(() => {
      this.#ended ??= { by: 'timeout' };
      this.#killGroup();
    }, request.timeoutMs);
    try {
      return await new Promise<ProcessEnding>((settle) => {
        this.#settle = settle;
        // A send error needs no handling: the process then exits, which settles the promise.
        this.#child.send(request, () => undefined);
      });
    } finally {
      clearTimeout(clock);
      this.#settle = undefined;
    }
  }

  #killGroup(): void {
    const { pid } = this.#child;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // Already gone.
    }
  }
}

/**
 * Moves a result into place. A document that took over its engine could leave a link, which the service would follow out of the sandbox.
 * The file is checked after the move, when no engine can change it any more.
 */
export async function takeResult(file: string, place: string): Promise<void> {
  await rename(file, place);
  if ((await lstat(place)).isFile()) return;
  await rm(place, { recursive: true });
  throw new Error('The engine left something else than a file as its result.');
}
