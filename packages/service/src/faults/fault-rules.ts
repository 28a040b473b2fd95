import { createHash } from 'node:crypto';
import type { RateClass } from '../accounts/account';
import { taskPathOf } from '../api-version';
import type { Fault, FaultsValues } from './faults-schema';

/** Which fault meets which request or callback: the same order of them and the same seed give the same faults. */

type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;

/** A fault that takes the place of the answer, or of a part of it. */
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
  /** How often it is delivered; 1: as it should be. */
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

/** A number from 0 up to 1 that this place decides alone, so that no fault's draws shift another's. */
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
