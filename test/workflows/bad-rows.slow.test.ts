import { readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BatchItemResult, ConversionBatchResult } from '../../src/batch/model/state';
import { readJsonl } from '../batch/folder';
import { BatchDesk } from '../support/batch-desk';
import { rigOfEachTest } from '../support/conversion-worker';
import { presentation } from '../protection/made-files';

/** Batches in which some rows are bad or conflict with each other. */

const rig = rigOfEachTest();
let desk: BatchDesk;

beforeEach(() => void (desk = new BatchDesk(rig)));

const textOf = ({ folder = '' }: ConversionBatchResult, name: string) => readFile(new URL(name, folder), 'utf8');

const resultsOf = async ({ folder = '' }: ConversionBatchResult) =>
  (await readJsonl(fileURLToPath(new URL('results.jsonl', folder)))) as BatchItemResult[];

it('fails both rows of a conflict without sending anything for them, and converts the rest', async () => {
  for (const name of ['a.md', 'a.txt', 'b.md']) await desk.put(name);
  await desk.put('empty.md', '');
  const { result } = await desk.run();
  const failures = { DESTINATION_TAKEN: 2, SOURCE_EMPTY: 1 };
  expect(result).toMatchObject({ status: 'completed', items: 4, succeeded: 1, failed: 3, refused: 3, failures });
  expect(rig.stub.count('upload/file')).toBe(1);
  const results = await resultsOf(result);
  expect(results.map(({ status, code, charge }) => [status, code, charge])).toEqual([
    ['failed', 'DESTINATION_TAKEN', 'no'],
    ['failed', 'DESTINATION_TAKEN', 'no'],
    ['succeeded', undefined, 'yes'],
    ['failed', 'SOURCE_EMPTY', 'no'],
  ]);
  expect(results[0]).toEqual({
    item: 1,
    status: 'failed',
    code: 'DESTINATION_TAKEN',
    charge: 'no',
    message: results[0]?.message,
  });
  expect(results[0]?.message).toMatch(/^in\/a\.md and in\/a\.txt would both become /);
  expect((await textOf(result, 'report.csv')).match(/failed.*DESTINATION_TAKEN/g)).toHaveLength(2);
  expect(JSON.parse(await textOf(result, 'report.json'))).toMatchObject({ unclear: 2, counts: { failed: 3 } });
  expect(await desk.problems()).toEqual([]);
});

it('fails a row with a password-protected file before anything is sent, and says what to do', async () => {
  await desk.put('locked.ppt', presentation('secret'));
  await desk.put('open.ppt', presentation());
  const { result } = await desk.run();
  expect(result).toMatchObject({ succeeded: 1, failed: 1, failures: { SOURCE_PROTECTED: 1 } });
  expect(rig.stub.count('upload/file')).toBe(1);
  const [locked] = await resultsOf(result);
  expect(locked).toMatchObject({ status: 'failed', charge: 'no', requests: 0 });
  expect(locked?.message).toMatch(/locked\.ppt: it opens only with a password or a certificate\. Put a copy without/);
});

it('fetches the task of an earlier run once the row that conflicted with it is gone', async () => {
  await desk.put('a.md');
  rig.stub.on('download/url', (_seen, response) => void response.destroy());
  const first = await desk.start();
  while (rig.stub.count('download/url') === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await first.cancel();
  expect((await desk.end(first)).rows['a.pdf']).toMatchObject({ status: 'cancelled', charge: 'yes' });
  rig.stub.asAlways('download/url');
  const other = await desk.put('a.txt');
  await desk.put('b.md');
  expect((await desk.run()).result).toMatchObject({ succeeded: 1, failures: { DESTINATION_TAKEN: 2 } });
  await rm(other);
  expect((await desk.run()).result).toMatchObject({ succeeded: 1, skipped: 1, failed: 0 });
  expect([rig.stub.conversions.size, await desk.problems()]).toEqual([2, []]);
});
