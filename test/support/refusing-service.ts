import type { ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { lookUpErrorCode } from '../../src/contract/error-codes';
import type { SeenRequest, StubService } from './stub-service';
import { answerCompleted, answerJson, answerOutput, answerRunning } from './stub-service';

/** Where an error can stand: in the answer of an endpoint, or in a monitored task that completed with it. */
export type Place = 'upload/file' | 'convert/file' | 'task/response' | 'task' | 'download/url' | 'download/url/get';

export interface Refusal {
  code: string;
  at: Place;
  /** How many requests to this endpoint are refused, from the first on. */
  times: number;
  headers?: Record<string, string>;
  /** Tells several jobs with one code at one place apart. */
  variant?: string;
}

/** A job that the service knows by the name of its file and by the connectors that it gave to it. */
export interface RefusedJob {
  readonly name: string;
  readonly refusal: Refusal;
  readonly seen: { endpoint: string; at: number }[];
}

const endpoints = ['upload/file', 'convert/file', 'task/response', 'download/url', 'download/url/get'] as const;

/** Makes a stub service refuse many jobs at once, each with its own code at its own place. */
export class RefusingService {
  readonly #stub: StubService;
  readonly #jobs = new Map<string, RefusedJob>();

  constructor(stub: StubService) {
    this.#stub = stub;
    for (const endpoint of endpoints) stub.on(endpoint, (seen, response) => this.#answer(endpoint, seen, response));
  }

  expect(refusal: Refusal): RefusedJob {
    const job = { name: nameOf(refusal), refusal, seen: [] };
    this.#jobs.set(job.name, job);
    return job;
  }

  jobOf(refusal: Pick<Refusal, 'code' | 'at' | 'variant'>): RefusedJob {
    const job = this.#jobs.get(nameOf(refusal));
    if (!job) throw new Error(`no job was announced for ${nameOf(refusal)}`);
    return job;
  }

  requestsOf({ seen }: RefusedJob): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { endpoint } of seen) counts[endpoint] = (counts[endpoint] ?? 0) + 1;
    return counts;
  }

  /** Milliseconds between the first two requests to the endpoint that refused. */
  pauseOf({ seen, refusal }: RefusedJob): number {
    const [first, second] = seen.filter(({ endpoint }) => endpoint === endpointOf(refusal.at));
    return first && second ? second.at - first.at : 0;
  }

  /** What the service explains a code with. */
  messageOf(code: string): string {
    return code === 'OUTCOME_UNKNOWN' ? 'not known whether the conversion runs' : `explained ${code}.`;
  }

  #answer(endpoint: (typeof endpoints)[number], request: SeenRequest, response: ServerResponse): void {
    const job = this.#find(request);
    job.seen.push({ endpoint, at: request.at });
    const { refusal } = job;
    const count = job.seen.filter((each) => each.endpoint === endpoint).length;
    if (endpointOf(refusal.at) !== endpoint || count > refusal.times) this.#accept(endpoint, job, request, response);
    else this.#refuse(refusal, request, response);
  }

  #refuse({ code, at, headers }: Refusal, { data }: SeenRequest, response: ServerResponse): void {
    const error = { code, message: this.messageOf(code) };
    if (at === 'task') answerCompleted(response, String(data['connector']), { error });
    else {
      const status = lookUpErrorCode(code)?.httpStatus ?? 418;
      answerJson(response, status, { result: { output: {}, error, warning: {} } }, headers);
    }
  }

  #accept(
    endpoint: (typeof endpoints)[number],
    { name }: RefusedJob,
    request: SeenRequest,
    response: ServerResponse,
  ): void {
    const id = `${name}/${randomUUID()}`;
    if (endpoint === 'upload/file') answerOutput(response, { connector: id, size: 1 });
    else if (endpoint === 'convert/file') answerRunning(response, id);
    else if (endpoint === 'download/url') {
      const { length: size } = this.#stub.output;
      answerOutput(response, { connector: id, name: 'result', size, url: '/v1/download/url/get' });
    } else this.#stub.answerAsAlways(request, response);
  }

  /** Every connector begins with the name of its job; an upload has the name of the file. */
  #find({ data, body }: SeenRequest): RefusedJob {
    const connector = data['connector'];
    const fromFile = /filename="([^"]+)\.md"/.exec(body.toString('latin1'))?.[1];
    const name = typeof connector === 'string' ? connector.split('/')[0] : fromFile;
    const job = this.#jobs.get(name ?? '');
    if (!job) throw new Error(`a request of no job: ${JSON.stringify(data)}`);
    return job;
  }
}

function nameOf({ code, at, variant }: Pick<Refusal, 'code' | 'at' | 'variant'>): string {
  return [code, at.replaceAll('/', '-'), variant].filter(Boolean).join('.');
}

function endpointOf(at: Place): string {
  return at === 'task' ? 'task/response' : at;
}
