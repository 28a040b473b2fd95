import { type EndpointClass, endpointClasses } from 'temporal-file-conversion/contract';
import type { Log } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import type { Account } from '../accounts/account';
import { taskPathOf, taskPaths } from '../shared/api-version';
import { messageOf } from '../shared/caught';
import { checkSections, checkToml, readSettingsFile, SettingsFileError } from '../shared/checked-toml';
import { fingerprint, WatchedFile } from '../shared/watched-file';

/** The keys of a faults file; `docs/service/faults.md` describes them. Each message completes `faults.N.key: `. */

const positive = z.int('must be a whole number, 1 or more').min(1, 'must be 1 or more');
const milliseconds = z.number('must be a number of milliseconds').positive('must be more than 0');
const when = z.enum(['before', 'after'], 'must be "before" or "after": whether the task has run');

/** Keys of every fault: which app it concerns, by name or App ID, and how often it happens. */
const anyFault = {
  app: z.string('must be the name or the App ID of an app').min(1).optional(),
  /** Only the first N times. Default: every time. */
  first: positive.optional(),
};

/** Keys of request faults; without `endpoint` and `class` they concern every endpoint. */
const requestFault = {
  ...anyFault,
  endpoint: z.enum(taskPaths, `must be one of ${taskPaths.join(', ')}`).optional(),
  class: z.enum(endpointClasses, `must be one of ${endpointClasses.join(', ')}`).optional(),
};

const kinds = [
  z.strictObject({ kind: z.literal('latency'), ms: milliseconds, ...requestFault }),
  z.strictObject({ kind: z.literal('error'), when, ...requestFault }),
  z.strictObject({
    kind: z.literal('html'),
    when,
    status: z.int('must be an HTTP status').min(200, 'must be 200 or more').max(599, 'must be 599 at most'),
    ...requestFault,
  }),
  z.strictObject({
    kind: z.literal('rate_limit'),
    /** Sent as is, valid or not; if it is not set, the header is missing. */
    retry_after: z
      .string('must be a text, for example "2"')
      .regex(/^[\x20-\x7e]*$/, 'must be a text that a header can carry')
      .optional(),
    ...requestFault,
  }),
  z.strictObject({
    kind: z.literal('cut'),
    at: z.enum(
      ['before_answer', 'after_headers', 'mid_body'],
      'must be "before_answer", "after_headers" or "mid_body"; the task has run in each case',
    ),
    ...requestFault,
  }),
  z.strictObject({ kind: z.literal('slow_download'), bytes_per_second: positive, ...anyFault }),
  z.strictObject({ kind: z.literal('callback_lost'), ...anyFault }),
  z.strictObject({ kind: z.literal('callback_late'), ms: milliseconds, ...anyFault }),
  z.strictObject({
    kind: z.literal('callback_duplicate'),
    /** Total number of deliveries. */
    copies: z.int('must be a whole number, 2 or more').min(2, 'must be 2 or more'),
    ...anyFault,
  }),
] as const;

const faultSchema = z
  .discriminatedUnion('kind', kinds, `must be one of ${kinds.map(({ shape }) => shape.kind.value).join(', ')}`)
  .superRefine((fault, context) => {
    if (!('endpoint' in fault && 'class' in fault)) return;
    context.addIssue({ code: 'custom', path: ['class'], message: 'cannot stand beside "endpoint"; keep one of them' });
  });

export const faultsSchema = z.strictObject({
  faults: z.array(faultSchema, 'must be written as [[faults]]').default([]),
});

/** Faults as an operator or a test writes them. */
export type FaultsOptions = z.input<typeof faultsSchema>;
type FaultsValues = z.output<typeof faultsSchema>;
type Fault = FaultsValues['faults'][number];

/** Decides which fault meets which request or callback; the same order of them gives the same faults. */

type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;

/** A fault that replaces the answer or a part of it. */
export type AnswerFault = FaultOf<'error' | 'html' | 'rate_limit' | 'cut' | 'slow_download'>;

/** The app that a request or a callback belongs to. */
export type FaultyApp = Pick<Account, 'name' | 'appId'>;

/** The only endpoint that answers with a file. */
const fileEndpoint = 'download/url/get';

export class FaultRules {
  readonly #rules: readonly { fault: Fault; count: number }[];

  constructor({ faults }: FaultsValues) {
    this.#rules = faults.map((fault) => ({ fault, count: 0 }));
  }

  get isOn(): boolean {
    return this.#rules.length > 0;
  }

  /**
   * Counts the request for every fault that concerns it. Delays add up; of the faults of the answer the first one applies.
   * @param request.endpoint as `v1/convert/file`.
   */
  ofRequest(request: { app: FaultyApp; endpoint: string; rateClass: EndpointClass }) {
    const taskPath = taskPathOf(request.endpoint);
    let delayMs = 0;
    let answer: AnswerFault | undefined;
    const concerns = (fault: Fault) => {
      if (isCallbackFault(fault)) return false;
      if (fault.kind === 'slow_download') return taskPath === fileEndpoint;
      if (fault.endpoint !== undefined) return fault.endpoint === taskPath;
      return fault.class === undefined || fault.class === request.rateClass;
    };
    for (const fault of this.#happening(request.app, concerns)) {
      if (fault.kind === 'latency') delayMs += fault.ms;
      else if (!isCallbackFault(fault)) answer ??= fault;
    }
    return { delayMs, answer };
  }

  /**
   * Counts the callback for every fault that concerns it; to be called once per callback, not per attempt. The delay precedes the first
   * attempt; `copies` is the number of deliveries.
   */
  ofCallback(app: FaultyApp): { lost: boolean; delayMs: number; copies: number } {
    let [lost, delayMs, copies] = [false, 0, 1];
    for (const fault of this.#happening(app, isCallbackFault)) {
      if (fault.kind === 'callback_lost') lost = true;
      else if (fault.kind === 'callback_late') delayMs += fault.ms;
      else if (fault.kind === 'callback_duplicate') copies = Math.max(copies, fault.copies);
    }
    return { lost, delayMs, copies };
  }

  #happening(app: FaultyApp, concerns: (fault: Fault) => boolean): Fault[] {
    return this.#rules.flatMap((rule) => {
      if (!concernsApp(rule.fault, app) || !concerns(rule.fault)) return [];
      rule.count += 1;
      return rule.count <= (rule.fault.first ?? Infinity) ? [rule.fault] : [];
    });
  }
}

function concernsApp({ app }: Pick<Fault, 'app'>, { name, appId }: FaultyApp): boolean {
  return app === undefined || app === name || app.toLowerCase() === appId.toLowerCase();
}

function isCallbackFault(fault: Fault): fault is FaultOf<'callback_lost' | 'callback_late' | 'callback_duplicate'> {
  return fault.kind.startsWith('callback_');
}

interface FaultsSource {
  /** Used instead of a file. */
  options: FaultsOptions | undefined;
  file: string;
  /** The file was named explicitly, so it must exist. */
  required: boolean;
  /** The apps that a fault can name. */
  apps: () => readonly FaultyApp[];
  log: Log;
}

/** Deliberate faults, for rehearsing how clients react. Without a file and without options: none. */
export class Faults {
  readonly file: WatchedFile;

  private constructor(
    private readonly source: FaultsSource,
    private state: Awaited<ReturnType<typeof load>>,
    seen: string,
  ) {
    this.file = new WatchedFile(source.file, seen, () => this.#read());
  }

  /** @throws SettingsFileError with one line that names the key. */
  static async open(source: FaultsSource): Promise<Faults> {
    const seen = await fingerprint(source.file);
    return new Faults(source, await load(source), seen);
  }

  get rules(): FaultRules {
    return this.state.rules;
  }

  /** Logs that this service fails on purpose, if it does. */
  announce(): void {
    if (this.rules.isOn) this.source.log(`FAULTS ARE ON: this service fails on purpose, ${this.state.summary}`);
  }

  async #read(): Promise<boolean> {
    const { log } = this.source;
    try {
      const before = this.state;
      this.state = await load(this.source, before);
      if (this.state !== before && !this.rules.isOn) log('faults are off');
      else if (this.state !== before) this.announce();
      return true;
    } catch (error) {
      log(`the faults stay as they were: ${messageOf(error)}`, { level: 'warn' });
      return false;
    }
  }
}

/** Loads the faults of the source; returns `before` if they have not changed. */
async function load(source: FaultsSource, before?: { text: string; rules: FaultRules; summary: string }) {
  const { options, file, required } = source;
  const text = options ? JSON.stringify(options) : await readSettingsFile(file, { kind: 'faults', required });
  if (text === before?.text) return before;
  const origin = options ? 'the option faults' : file;
  const schema = faultsSchema;
  const values = options ? checkSections(options, { origin, schema }) : checkToml(text, { file, schema });
  requireKnownApps(values, origin, source.apps());
  const summary = `as ${origin} says: ${values.faults.map(describeFault).join('; ')}`;
  // The text stays with its rules, so that counts continue as long as it is the same.
  return { rules: new FaultRules(values), text, summary };
}

/** A fault for an unknown app would never happen, and nobody would know why. */
function requireKnownApps({ faults }: FaultsValues, origin: string, apps: readonly FaultyApp[]): void {
  for (const [index, { app }] of faults.entries()) {
    if (app === undefined || apps.some((each) => concernsApp({ app }, each))) continue;
    const names = apps.map(({ name }) => name).join(', ');
    throw new SettingsFileError(`${origin}: faults.${index}.app: there is no app "${app}"; there are: ${names}`);
  }
}

/** For example `latency ms=500 endpoint=convert/file first=3`. */
function describeFault({ kind, ...settings }: Fault): string {
  const parts = Object.entries(settings).map(([key, value]) => `${key}=${String(value)}`);
  return [kind, ...parts].join(' ');
}
