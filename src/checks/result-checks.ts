import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { formatOf } from '../http/result-check';
import { cutText } from '../job/job-outcome';
import type { ResultCheck } from '../job/policies';
import { printable } from '../messages/wording';
import { writing } from '../storage/errors';
import { receive, withBody, writeAll } from '../storage/write';
import { canStart, problemByCommand, type CheckCommand } from './check-command';
import { CheckNotRunError, CheckUnavailableError } from './errors';
import { Opening } from './opening';
import { packageFor } from './opened';
import { Slots } from './slots';

interface Asked {
  check?: ResultCheck | undefined;
  /** Target format. */
  output: string;
}

interface Arriving extends Asked {
  body: Readable;
  expectedSize: number | undefined;
  signal: AbortSignal;
  /** Earlier checks crashed or hung: if this one does too, the result counts as suspect, or the job would never get it. */
  isLastLook?: boolean;
}

const maxProblemLength = 300;
const folderPrefix = 'fileconv-check-';
/** Longer than any download and its check. */
const abandonedMs = 7 * 24 * 60 * 60_000;

/** Checks results before they get their names. Shared by all activities of a worker. */
export class ResultChecks {
  readonly #loaded = new Set<string>();
  #swept: Promise<void> | undefined;
  /** Check programs are large: at most one per processor runs at a time. */
  readonly #programs = new Slots(os.availableParallelism());

  constructor(
    private readonly command: CheckCommand | undefined,
    private readonly opening: Pick<Opening, 'ask' | 'close'> = new Opening(),
  ) {}

  /**
   * Call before anything is charged for a result that could not be checked.
   * @throws CheckUnavailableError that says what to install or set
   */
  async assertPossible({ check, output }: Asked, signal: AbortSignal): Promise<void> {
    const refuse = (why: string, fix: string) => {
      throw new CheckUnavailableError(`This worker can't do the check "${check}": ${why}. ${fix}`);
    };
    if (check === 'command' && !this.command) {
      refuse('it is given no program for it', 'Whoever runs it sets worker.check_command, and starts it again.');
    }
    if (check === 'command' && this.command && !(await canStart(this.command))) {
      const fix = 'Whoever runs it gives worker.check_command a whole path, or installs the program.';
      refuse(`there is no program ${printable(this.command.argv[0] ?? '')} that it could run`, fix);
    }
    const { name } = (check === 'opens' ? packageFor(output) : undefined) ?? {};
    if (name === undefined || this.#loaded.has(name)) return;
    const { missing } = await this.opening.ask({ output }, signal);
    if (missing !== undefined)
      refuse(`the package ${name} is missing (${missing})`, `Where it runs: npm install ${name}`);
    this.#loaded.add(name);
  }

  /** Receives a result, checks it, and hands it on with its problem, if any. @throws StorageError, CheckNotRunError */
  async take<T>(
    { check, output, body: arriving, expectedSize, signal, isLastLook = false }: Arriving,
    handOn: (body: Readable, problem: string | undefined) => Promise<T>,
  ): Promise<T> {
    await (this.#swept ??= sweep().catch(() => undefined));
    const folder = await mkdtemp(path.join(os.tmpdir(), folderPrefix));
    // Only the extension comes from the caller, and only if it is a plain word.
    const file = path.join(folder, `result.${/^\w{1,16}$/.test(formatOf(output)) ? formatOf(output) : 'bin'}`);
    const uri = pathToFileURL(file).href;
    const handle = await open(file, 'wx+', 0o600);
    try {
      await withBody({ body: arriving, signal }, (body) =>
        receive(body, { uri, expectedSize, signal, store: (chunks) => writing(uri, () => writeAll(handle, chunks)) }),
      );
      // A write by the program would change this time: the result must be handed on as it arrived.
      await handle.utimes(0, 0);
      const problem = await this.#look(file, { check, output }, signal).catch((error: unknown) => {
        if (!isLastLook || !(error instanceof CheckNotRunError && error.mayBeOfResult)) throw error;
        return `can't be ${check === 'opens' ? 'opened' : 'checked'}: ${error.why}`;
      });
      if ((await handle.stat()).mtimeMs !== 0)
        throw new CheckNotRunError('the program that looks at it has changed it');
      return await handOn(handle.createReadStream({ start: 0, autoClose: false }), problem);
    } finally {
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  close(): void {
    this.opening.close();
  }

  async #look(file: string, asked: Asked, signal: AbortSignal): Promise<string | undefined> {
    await this.assertPossible(asked, signal);
    const { command } = this;
    if (asked.check === 'command')
      return command && this.#programs.take(() => problemByCommand(file, command, signal), signal);
    const { problem } = await this.opening.ask({ path: file, output: asked.output }, signal);
    // The problem may quote the file, and names our path.
    return problem && cutText(printable(problem.replaceAll(file, 'the result')), maxProblemLength);
  }
}

/** Removes folders left by killed workers, except those of another user. */
async function sweep(): Promise<void> {
  const names = (await readdir(os.tmpdir())).filter((name) => name.startsWith(folderPrefix));
  for (const folder of names.map((name) => path.join(os.tmpdir(), name)))
    await removeAbandoned(folder).catch(() => undefined);
}

async function removeAbandoned(folder: string): Promise<void> {
  const { mtimeMs } = await stat(folder);
  if (Date.now() - mtimeMs > abandonedMs) await rm(folder, { recursive: true, force: true });
}
