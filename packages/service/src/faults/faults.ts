import { readFile } from 'node:fs/promises';
import type { Log } from 'temporal-file-conversion/internal/shared/log';
import { inspectError, messageOf } from '../shared/caught';
import { checkToml, describeIssue } from '../shared/checked-toml';
import {
  type CallbackFault,
  type Fault,
  FaultRules,
  type FaultsOptions,
  faultsSchema,
  type FaultsValues,
  type FaultyApp,
  noCallbackFault,
  type RequestFault,
} from './fault-rules';

/** Invalid faults; the message is one line that names the file and the key. */
export class FaultsFileError extends Error {
  override readonly name = 'FaultsFileError';
  readonly code = 'FAULTS_FILE_INVALID';
}

interface FaultsSource {
  /** Instead of a file. */
  options: FaultsOptions | undefined;
  file: string;
  /** The file was named explicitly, so it must exist. */
  required: boolean;
  /** The apps that a fault can name. */
  apps: () => readonly FaultyApp[];
  log: Log;
}

interface State {
  readonly rules: FaultRules;
  /** What the rules were made from: counts continue as long as it is the same. */
  readonly text: string;
  readonly summary: string;
}

/** Faults that are injected on purpose, to rehearse what clients do about them. Without a file and without options: none. */
export class Faults {
  readonly #source: FaultsSource;
  #state: State;

  private constructor(source: FaultsSource, state: State) {
    this.#source = source;
    this.#state = state;
  }

  /** @throws FaultsFileError with one line that names the key. */
  static async open(source: FaultsSource): Promise<Faults> {
    return new Faults(source, await load(source));
  }

  get isOn(): boolean {
    return this.#state.rules.isOn;
  }

  /** Says in one line that this service fails on purpose, if it does. */
  announce(): void {
    if (this.isOn) this.#source.log(`FAULTS ARE ON: this service fails on purpose, ${this.#state.summary}`);
  }

  /** Decides once what happens to a request. */
  ofRequest(request: Parameters<FaultRules['ofRequest']>[0]): RequestFault {
    return this.#state.rules.ofRequest(request);
  }

  /** Decides what happens to a callback of this app (by App ID). To be asked once for each callback, not for each attempt. */
  callbackFault(appId: string): CallbackFault {
    const app = this.#source.apps().find((each) => each.appId === appId);
    return app ? this.#state.rules.ofCallback(app) : noCallbackFault;
  }

  /** Reads the file again. Resolves to false, and changes nothing, if it is invalid. */
  async reload(): Promise<boolean> {
    const { log } = this.#source;
    try {
      const before = this.#state;
      this.#state = await load(this.#source, before);
      if (this.#state === before) return true;
      if (this.isOn) this.announce();
      else log('faults are off');
      return true;
    } catch (error) {
      log(`the faults stay as they were: ${messageOf(error)}`, { level: 'warn' });
      return false;
    }
  }
}

/** What the source says now; `before` if that has not changed. */
async function load(source: FaultsSource, before?: State): Promise<State> {
  const { options, file } = source;
  const text = options ? JSON.stringify(options) : await readText(source);
  if (text === before?.text) return before;
  const origin = options ? 'the option faults' : file;
  const values = options ? checkOptions(options) : checkFile(text, file);
  requireKnownApps(values, origin, source.apps());
  const rules = new FaultRules(values);
  return {
    rules,
    text,
    summary: `as ${origin} says (seed ${values.seed}): ${values.faults.map(describeFault).join('; ')}`,
  };
}

async function readText({ file, required }: FaultsSource): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const isMissing = inspectError(error).code === 'ENOENT';
    if (isMissing && !required) return '';
    const reason = isMissing ? 'there is no such faults file' : `the faults file cannot be read: ${messageOf(error)}`;
    throw new FaultsFileError(`${file}: ${reason}`, { cause: error });
  }
}

function checkFile(text: string, file: string): FaultsValues {
  const checked = checkToml(text, { file, schema: faultsSchema });
  if ('problem' in checked) throw new FaultsFileError(checked.problem);
  return checked.values;
}

function checkOptions(options: FaultsOptions): FaultsValues {
  const parsed = faultsSchema.safeParse(options);
  if (!parsed.success) throw new FaultsFileError(`the option faults: ${describeIssue(parsed.error.issues)}`);
  return parsed.data;
}

/** A fault for an unknown app would never happen, and nobody would know why. */
function requireKnownApps({ faults }: FaultsValues, origin: string, apps: readonly FaultyApp[]): void {
  for (const [index, { app }] of faults.entries()) {
    if (app === undefined || apps.some(({ name, appId }) => name === app || appId.toLowerCase() === app.toLowerCase()))
      continue;
    const names = apps.map(({ name }) => name).join(', ');
    throw new FaultsFileError(`${origin}: faults.${index}.app: there is no app "${app}"; there are: ${names}`);
  }
}

/** `latency ms=500 endpoint=convert/file first=3`. */
function describeFault({ kind, ...settings }: Fault): string {
  const parts = Object.entries(settings).map(([key, value]) => `${key}=${String(value)}`);
  return [kind, ...parts].join(' ');
}
