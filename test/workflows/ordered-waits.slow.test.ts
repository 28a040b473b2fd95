import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerError } from '../support/stub-service';

/** RETRY-AFTER with codes and statuses beside the document's 429: it is waited for, and costs no file. */

const endpoints = ['upload/file', 'convert/file', 'task/response', 'download/url', 'download/url/get'] as const;
const files = Array.from({ length: 20 }, (_, index) => `file-${index}`);
const refusals = 2;

const rig = rigOfEachTest();

it.each([
  ['A_CODE_OF_TOMORROW', 429],
  ['A_CODE_OF_TOMORROW', 503],
  ['INTERNAL_SERVER_ERROR', 503],
])(
  '%s with HTTP %i and RETRY-AFTER, at every step: every file is converted, and nothing is sent early',
  async (...kind) => {
    const [code, status] = kind;
    for (const endpoint of endpoints) {
      let answers = 0;
      rig.stub.on(endpoint, (seen, response) => {
        answers += 1;
        if (answers > refusals) rig.stub.answerAsAlways(seen, response);
        else answerError(response, status, code, { 'retry-after': '3' });
      });
    }
    const early = watchEarly(status);
    const results = await Promise.all(
      files.map(async (name) =>
        rig.client.convert(
          await rig.request({ source: await rig.source(`${name}.md`), destination: `${rig.folder}/out/` }),
        ),
      ),
    );
    expect(results.map((result) => result.status)).toEqual(files.map(() => 'succeeded'));
    expect(early()).toEqual([]);
    const submits = rig.stub.count('convert/file');
    expect(submits).toBe(files.length + refusals);
    // A 503 leaves open whether the conversion ran, a 429 does not.
    const marked = results.filter((result) => result.possiblyChargedTwice).length;
    expect(marked).toBe(status === 429 ? 0 : refusals);
  },
);

/** What had its turn when a refusal came may still be sent: it waits for its fence. */
const underWayMs = 1_000;

/** Requests that this process makes within the time that a refusal of their endpoint orders, from when that was read. */
function watchEarly(status: number): () => string[] {
  const early: string[] = [];
  const blockedUntil = new Map<string, number>();
  const refused = new WeakSet<object>();
  const listeners: Record<string, (event: unknown) => void> = {
    'undici:request:create': (event) => {
      const { path } = (event as RequestEvent).request;
      const leftMs = (blockedUntil.get(path) ?? 0) - performance.now();
      if (leftMs > 0 && leftMs < 3_000 - underWayMs) early.push(`${path}: ${Math.round(leftMs)} ms`);
    },
    'undici:request:headers': (event) => {
      const { request, response } = event as RequestEvent;
      if (response?.statusCode === status) refused.add(request);
    },
    'undici:request:trailers': (event) => {
      const { request } = event as RequestEvent;
      if (refused.has(request)) blockedUntil.set(request.path, performance.now() + 3_000);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) subscribe(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) unsubscribe(name, listener);
    return early;
  };
}

interface RequestEvent {
  request: { path: string };
  response?: { statusCode: number };
}
