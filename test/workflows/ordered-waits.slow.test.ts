import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { rigOfEachTest, startRig } from '../support/conversion-worker';
import { FailingCodec } from '../support/failing-codec';
import { answerError } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';

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

it('a download that has delivered, and can not say so before a pause beyond its deadline, knows its file afterwards', async () => {
  const codec = new FailingCodec();
  const dataConverter = { payloadCodecs: [codec] };
  const own = await startRig({ temporal: { address: testTemporalAddress(), namespace: 'default', dataConverter } });
  try {
    let downloads = 0;
    own.stub.on('download/url', (seen, response) => {
      downloads += 1;
      if (downloads === 1) codec.poison = '"sha256"';
      if (downloads === 2) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '6' });
      else own.stub.answerAsAlways(seen, response);
    });
    const policies = { downloadDeadline: '5 seconds' } as const;
    const result = await own.client.convert(await own.request({ destination: `${own.folder}/out/`, policies }));
    expect(result.status).toBe('succeeded');
    expect(downloads).toBe(3);
    expect(own.stub.count('convert/file')).toBe(1);
  } finally {
    await own.close();
  }
});

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
