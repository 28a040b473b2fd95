import { createHash } from 'node:crypto';
import { endpoints } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { type RateClass, rateClasses } from '../accounts/account';
import { taskPathOf } from '../shared/api-version';

/** The keys of a faults file; `docs/service/faults.md` describes them. Each message completes `faults.N.key: `. */

const positive = z.int('must be a whole number, 1 or more').min(1, 'must be 1 or more');
const milliseconds = z.number('must be a number of milliseconds').positive('must be more than 0');
const taskPaths = Object.values(endpoints).map(taskPathOf);
const when = z.enum(['before', 'after'], 'must be "before" or "after": whether the task has run');

const howOften = {
  /** Only the first N times. */
  first: positive.optional(),
  /** Every Nth time: 3 for the third, the sixth and so on. */
  every: positive.optional(),
  probability: z
    .number('must be a number from 0 to 1')
    .min(0, 'must be from 0 to 1')
    .max(1, 'must be from 0 to 1')
    .optional(),
};

/** What every fault has: which app it concerns, by name or App ID, and how often it happens. */
const anyFault = { app: z.string('must be the name or the App ID of an app').min(1).optional(), ...howOften };

/** Faults of requests; without `endpoint` and `class` they concern every endpoint. */
const requestFault = {
  ...anyFault,
  endpoint: z.enum(taskPaths, `must be one of ${taskPaths.join(', ')}`).optional(),
  class: z.enum(rateClasses, `must be one of ${rateClasses.join(', ')}`).optional(),
};

const kinds = {
  latency: z.strictObject({ kind: z.literal('latency'), ms: milliseconds, ...requestFault }),
  error: z.strictObject({ kind: z.literal('error'), when, ...requestFault }),
  html: z.strictObject({
    kind: z.literal('html'),
    when,
    status: z.int('must be an HTTP status').min(200, 'must be 200 or more').max(599, 'must be 599 at most'),
    ...requestFault,
  }),
  rate_limit: z.strictObject({
    kind: z.literal('rate_limit'),
    /** Sent as it is, valid or not; without it the header is missing. */
    retry_after: z
      .string('must be a text, for example "2"')
      .regex(/^[\x20-\x7e]*$/, 'must be a text that a header can carry')
      .optional(),
    ...requestFault,
  }),
  cut: z.strictObject({
    kind: z.literal('cut'),
    at: z.enum(
      ['before_answer', 'after_headers', 'mid_body'],
      'must be "before_answer", "after_headers" or "mid_body"; the task has run in each case',
    ),
    ...requestFault,
  }),
  slow_download: z.strictObject({ kind: z.literal('slow_download'), bytes_per_second: positive, ...anyFault }),
  callback_lost: z.strictObject({ kind: z.literal('callback_lost'), ...anyFault }),
  callback_late: z.strictObject({ kind: z.literal('callback_late'), ms: milliseconds, ...anyFault }),
  callback_duplicate: z.strictObject({
    kind: z.literal('callback_duplicate'),
    /** How often it is sent in all. */
    copies: z.int('must be a whole number, 2 or more').min(2, 'must be 2 or more'),
    ...anyFault,
  }),
};

const faultSchema = z
  .discriminatedUnion(
    'kind',
    [
      kinds.latency,
      kinds.error,
      kinds.html,
      kinds.rate_limit,
      kinds.cut,
      kinds.slow_download,
      kinds.callback_lost,
      kinds.callback_late,
      kinds.callback_duplicate,
    ],
    `must be one of ${Object.keys(kinds).join(', ')}`,
  )
  .superRefine((fault, context) => {
    refuseBoth(fault, ['endpoint', 'class'], context);
    refuseBoth(fault, ['first', 'every', 'probability'], context);
  });

/** A fault may have one of these keys. */
function refuseBoth(fault: object, keys: readonly string[], context: z.RefinementCtx): void {
  const [first, second] = keys.filter((key) => key in fault);
  if (first === undefined || second === undefined) return;
  context.addIssue({ code: 'custom', path: [second], message: `cannot stand beside "${first}"; keep one of them` });
}

export const faultsSchema = z.strictObject({
  /** Decides what `probability` makes of each request: the same requests in the same order meet the same faults. */
  seed: z.int('must be a whole number, 0 or more').min(0, 'must be 0 or more').default(1),
  faults: z.array(faultSchema, 'must be written as [[faults]]').default([]),
});

/** Faults as an operator or a test writes them. */
export type FaultsOptions = z.input<typeof faultsSchema>;
export type FaultsValues = z.output<typeof faultsSchema>;
export type Fault = FaultsValues['faults'][number];

/** Which fault meets which request or callback: the same order of them and the same seed give the same faults. */

type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;

/** A fault that replaces the answer or a part of it. */
export type AnswerFault = FaultOf<'error' | 'html' | 'rate_limit' | 'cut' | 'slow_download'>;

/** What happens to one request. */
export interface RequestFault {
  readonly delayMs: number;
  readonly answer: AnswerFault | undefined;
}

/** What happens to one callback, all attempts of its delivery together. */
export interface CallbackFault {
  readonly lost: boolean;
  /** Before the first attempt. */
  readonly delayMs: number;
  /** How often it is delivered, normally 1. */
  readonly copies: number;
}

/** The app that a request or a callback belongs to. */
export interface FaultyApp {
  readonly name: string;
  readonly appId: string;
}

interface AskedRequest {
  readonly app: FaultyApp;
  /** `v1/convert/file`. */
  readonly endpoint: string;
  readonly rateClass: RateClass;
}

export const noCallbackFault: CallbackFault = { lost: false, delayMs: 0, copies: 1 };

/** The slow download concerns the one endpoint that answers with a file. */
const fileEndpoint = 'download/url/get';

export class FaultRules {
  readonly #seed: number;
  readonly #rules: readonly { fault: Fault; index: number; count: number }[];

  constructor({ seed, faults }: FaultsValues) {
    this.#seed = seed;
    this.#rules = faults.map((fault, index) => ({ fault, index, count: 0 }));
  }

  get isOn(): boolean {
    return this.#rules.length > 0;
  }

  /** Counts the request for every fault that concerns it. Delays add up; of the faults of the answer the first one counts. */
  ofRequest(request: AskedRequest): RequestFault {
    let delayMs = 0;
    let answer: AnswerFault | undefined;
    for (const fault of this.#happening((each) => concernsRequest(each, request))) {
      if (fault.kind === 'latency') delayMs += fault.ms;
      else if (isAnswerFault(fault)) answer ??= fault;
    }
    return { delayMs, answer };
  }

  /** Counts the callback for every fault that concerns it. */
  ofCallback(app: FaultyApp): CallbackFault {
    let { lost, delayMs, copies } = noCallbackFault;
    for (const fault of this.#happening((each) => concernsCallback(each, app))) {
      if (fault.kind === 'callback_lost') lost = true;
      else if (fault.kind === 'callback_late') delayMs += fault.ms;
      else if (fault.kind === 'callback_duplicate') copies = Math.max(copies, fault.copies);
    }
    return { lost, delayMs, copies };
  }

  #happening(concerns: (fault: Fault) => boolean): Fault[] {
    return this.#rules.flatMap((rule) => {
      if (!concerns(rule.fault)) return [];
      rule.count += 1;
      return this.#happens(rule) ? [rule.fault] : [];
    });
  }

  #happens({ fault, index, count }: { fault: Fault; index: number; count: number }): boolean {
    if (fault.first !== undefined) return count <= fault.first;
    if (fault.every !== undefined) return count % fault.every === 0;
    return fault.probability === undefined || drawAt(`${this.#seed}/${index}/${count}`) < fault.probability;
  }
}

/** A number from 0 up to 1 that depends on this place alone, so that one fault's draws do not shift another's. */
function drawAt(place: string): number {
  return createHash('sha256').update(place).digest().readUInt32BE() / 2 ** 32;
}

function concernsRequest(fault: Fault, { app, endpoint, rateClass }: AskedRequest): boolean {
  if (!concernsApp(fault, app) || isCallbackFault(fault)) return false;
  if (fault.kind === 'slow_download') return taskPathOf(endpoint) === fileEndpoint;
  if (fault.endpoint !== undefined) return fault.endpoint === taskPathOf(endpoint);
  return fault.class === undefined || fault.class === rateClass;
}

function concernsCallback(fault: Fault, app: FaultyApp): boolean {
  return isCallbackFault(fault) && concernsApp(fault, app);
}

function concernsApp({ app }: Fault, { name, appId }: FaultyApp): boolean {
  return app === undefined || app === name || app.toLowerCase() === appId.toLowerCase();
}

function isCallbackFault(fault: Fault): fault is FaultOf<'callback_lost' | 'callback_late' | 'callback_duplicate'> {
  return fault.kind.startsWith('callback_');
}

function isAnswerFault(fault: Fault): fault is AnswerFault {
  return !isCallbackFault(fault) && fault.kind !== 'latency';
}
