import { randomUUID } from 'node:crypto';
import {
  answerError,
  answerNotYet,
  answerOutput,
  answerRunning,
  startStubService,
} from '../../test/support/stub-service';

/** Where a service stops the jobs that come to it. */
export type HoldPoint =
  /** Nobody may upload for a while, as the one learns that still could. */
  | 'inLine'
  /** No answer to an upload, a submit, the last of a few polls; half of a download. */
  | 'uploading'
  | 'submitting'
  | 'polling'
  | 'downloading'
  /** The conversion continues until its callback. */
  | 'callback'
  /** Too few vCredits. */
  | 'parked';

const pollsBeforeHold = 8;
const noneLeft = { 'x-ratelimit-limit': 1_000, 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': 5 };

/** A conversion service in this process that answers all at once, but for the time in which it holds every job that comes to one point. */
export type HeldService = Awaited<ReturnType<typeof startHeldService>>;

export async function startHeldService(point: HoldPoint) {
  const stub = await startStubService();
  const polls = new Map<string, number>();
  /** Callback URLs of the conversions that continue. */
  const callbackUrls: string[] = [];
  let [isHolding, held] = [false, 0];
  const isAt = (one: HoldPoint) => isHolding && point === one;
  const holds = (one: HoldPoint) => {
    if (isAt(one)) held += 1;
    return isAt(one);
  };
  stub.on('upload/file', (seen, response) => {
    if (holds('uploading')) return;
    if (isAt('inLine')) for (const [name, value] of Object.entries(noneLeft)) response.setHeader(name, value);
    answerOutput(response, { connector: randomUUID(), size: 1 });
  });
  stub.on('convert/file', (seen, response) => {
    if (holds('submitting')) return;
    if (holds('parked')) {
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      return;
    }
    const { callback } = seen.data;
    if (holds('callback') && typeof callback === 'string') callbackUrls.push(callback);
    answerRunning(response, randomUUID());
  });
  stub.on('task/response', (seen, response) => {
    const id = String(seen.data['connector']);
    polls.set(id, (polls.get(id) ?? 0) + 1);
    if ((polls.get(id) ?? 0) > pollsBeforeHold && holds('polling')) return;
    if (isAt('polling')) answerNotYet(response, id);
    else stub.answerAsAlways(seen, response);
  });
  stub.on('download/url/get', (seen, response) => {
    if (!holds('downloading')) {
      stub.answerAsAlways(seen, response);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': stub.output.length });
    response.write(stub.output.subarray(0, 3));
  });
  return {
    baseUrl: stub.url,
    callbackUrls,
    /** Jobs that have come to its point; of those in line the rate limit knows. */
    held: () => held,
    hold: () => void (isHolding = true),
    release: () => void (isHolding = false),
    stop: () => stub.close(),
  };
}
