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
    const early: string[] = [];
    for (const endpoint of endpoints) {
      let answers = 0;
      let blockedUntil = 0;
      rig.stub.on(endpoint, (seen, response) => {
        // What was under way when the first refusal was answered is not early.
        if (seen.at > blockedUntil - 2_500 && seen.at < blockedUntil)
          early.push(`${endpoint}: ${blockedUntil - seen.at} ms`);
        answers += 1;
        if (answers > refusals) rig.stub.answerAsAlways(seen, response);
        else {
          blockedUntil = Date.now() + 3_000;
          answerError(response, status, code, { 'retry-after': '3' });
        }
      });
    }
    const results = await Promise.all(
      files.map(async (name) =>
        rig.client.convert(
          await rig.request({ source: await rig.source(`${name}.md`), destination: `${rig.folder}/out/` }),
        ),
      ),
    );
    expect(results.map((result) => result.status)).toEqual(files.map(() => 'succeeded'));
    expect(early).toEqual([]);
    const submits = rig.stub.count('convert/file');
    expect(submits).toBe(files.length + refusals);
    // A 503 leaves open whether the conversion ran, a 429 does not.
    const marked = results.filter((result) => result.possiblyChargedTwice).length;
    expect(marked).toBe(status === 429 ? 0 : refusals);
  },
);
