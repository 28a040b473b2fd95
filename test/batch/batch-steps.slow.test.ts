import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { mergeBatchResults, readBatchItems, writeBatchPart } from '../../src/batch/batch-steps';
import type { LedgerRow } from '../../src/batch/ledger';
import { RunFileError, runFiles } from '../../src/batch/run-files';
import type { BatchItem } from '../../src/batch/model/types';
import type { BatchItemResult } from '../../src/batch/model/state';
import { createLocalFiles } from '../../src/storage/local-files';

const writing = { jobKey: 'batch', attempt: 1 };
const content = { bytes: 1, sha256: 'a' };

let batch: string;
let root: string;
let folder: string;

beforeEach(async () => {
  batch = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  root = path.join(batch, 'run-0001');
  await mkdir(root);
  folder = `${pathToFileURL(root).href}/`;
});

function row(item: number, done = false): BatchItem {
  const output = { uri: `file:///out/${item}`, name: String(item), ...content };
  return {
    item,
    source: `file:///in/${item}-ä`,
    output: 'pdf',
    destination: `file:///out/${item}`,
    ...(done && { done: { source: content, output } }),
  };
}

const writeManifest = async (rows: readonly BatchItem[]): Promise<void> =>
  await writeFile(path.join(root, runFiles.manifest), rows.map((each) => `${JSON.stringify(each)}\n`).join(''));

const merged = async (): Promise<BatchItemResult[]> =>
  (await readFile(path.join(root, runFiles.results), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BatchItemResult);

const succeeded = (item: number): BatchItemResult => ({ item, status: 'succeeded' });

async function failureOf(promise: Promise<unknown>): Promise<RunFileError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof RunFileError)) throw new Error('no RunFileError', { cause: error });
  return error;
}

const files = createLocalFiles();

describe('the merged results', () => {
  it('have one line per row, in the order of the rows, whatever the order of the parts', async () => {
    await writeManifest([row(1), row(2, true), row(5), row(6), row(9)]);
    await writeBatchPart(
      files,
      { folder, part: 1, results: [succeeded(9), { item: 1, status: 'failed', code: 'X' }] },
      writing,
    );
    const { counts, results } = await mergeBatchResults(files, { folder, parts: 1, rest: [succeeded(5)] }, writing);
    expect(counts).toEqual({ succeeded: 2, failed: 1, skipped: 1, cancelled: 1 });
    expect(results).toBe(`${folder}results.jsonl`);
    expect((await merged()).map(({ item, status }) => [item, status])).toEqual([
      [1, 'failed'],
      [2, 'skipped'],
      [5, 'succeeded'],
      [6, 'cancelled'],
      [9, 'succeeded'],
    ]);
  });

  it('count a part that was written twice only once, cost included, and leave no temporary file', async () => {
    await writeManifest([row(1), row(2)]);
    const paid = { ...succeeded(1), vcredits: 3 };
    const part = { folder, part: 1, results: [paid] };
    await writeBatchPart(files, part, writing);
    await writeBatchPart(files, part, { ...writing, attempt: 2 });
    const merge = { folder, parts: 1, rest: [succeeded(2)] };
    await mergeBatchResults(files, merge, writing);
    await mergeBatchResults(files, merge, { ...writing, attempt: 2 });
    expect(await merged()).toEqual([paid, succeeded(2)]);
    const [head = ''] = (await readFile(path.join(batch, 'ledger.jsonl'), 'utf8')).split('\n');
    expect(JSON.parse(head)).toEqual({ run: 1, vcredits: 3 });
    expect((await readdir(root, { recursive: true })).sort()).toEqual([
      'manifest.jsonl',
      'parts',
      path.join('parts', '000001.jsonl'),
      path.join('parts', '000002.jsonl'),
      'results.jsonl',
    ]);
  });

  it('of an older run, whose workflow was reset, take nothing from the ledger that newer runs know', async () => {
    const paid = (item: number, sha256: string): BatchItemResult => ({
      ...succeeded(item),
      ...{ vcredits: 1, source: { ...content, sha256 }, output: { uri: `file:///out/${item}`, name: 'x', ...content } },
    });
    const ledger = async () =>
      (await readFile(path.join(batch, 'ledger.jsonl'), 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LedgerRow & { vcredits?: number });
    const first = { folder, parts: 0, rest: [paid(1, 'old'), paid(2, 'old')] };
    await writeManifest([row(1), row(2)]);
    await mergeBatchResults(files, first, writing);
    root = path.join(batch, 'run-0002');
    await mkdir(root);
    await writeManifest([row(1)]);
    await mergeBatchResults(
      files,
      { folder: `${pathToFileURL(root).href}/`, parts: 0, rest: [paid(1, 'new')] },
      writing,
    );
    const before = await ledger();
    await mergeBatchResults(files, first, writing);
    const known = ({ destination, delivered }: LedgerRow) => [destination, delivered?.source.sha256];
    const [head, ...rows] = await ledger();
    expect(head).toEqual({ run: 2, vcredits: 3 });
    expect(rows.map(known).sort()).toEqual(before.slice(1).map(known).sort());
  });

  it('remove day-old files of killed writers, in the whole batch and beside its results', async () => {
    const run = path.join(batch, 'run-0002');
    const out = path.join(batch, 'out of it');
    const left = [root, run, out].map((each) => path.join(each, '.x.0123456789ab.1.part'));
    for (const each of left) {
      await mkdir(path.dirname(each), { recursive: true });
      await writeFile(each, 'x');
      await utimes(each, 1, 1);
    }
    const here = `${pathToFileURL(run).href}/`;
    const item = { ...row(1), destination: pathToFileURL(path.join(out, 'a.pdf')).href };
    await writeFile(path.join(run, 'manifest.jsonl'), `${JSON.stringify(item)}\n`);
    await mergeBatchResults(files, { folder: here, parts: 0, rest: [succeeded(1)] }, writing);
    expect(left.filter((each) => existsSync(each))).toEqual([]);
  });

  it.each([
    ['an item has two results', [[succeeded(1)], [succeeded(1)]], 'item 1 has two results, in parts 1 and 2'],
    ['a result belongs to no row', [[succeeded(1), succeeded(7)]], '1 results belong to no row'],
  ])('are not written when %s', async (_title, parts, message) => {
    await writeManifest([row(1)]);
    for (const [index, results] of parts.entries())
      await writeBatchPart(files, { folder, part: index + 1, results }, writing);
    const failure = await failureOf(mergeBatchResults(files, { folder, parts: parts.length, rest: [] }, writing));
    expect(failure.code).toBe('RUN_DAMAGED');
    expect(failure.message).toContain(message);
    expect(await readdir(root)).not.toContain(runFiles.results);
  });

  it('are not written when a part is missing or damaged; the error names the line', async () => {
    await writeManifest([row(1), row(2)]);
    await writeBatchPart(files, { folder, part: 1, results: [succeeded(1), succeeded(2)] }, writing);
    const file = path.join(root, runFiles.parts, '000001.jsonl');
    await writeFile(file, `${JSON.stringify(succeeded(1))}\n{"item": 2, "status": "done"}\n`);
    expect((await failureOf(mergeBatchResults(files, { folder, parts: 1, rest: [] }, writing))).message).toMatch(
      /000001\.jsonl line 2 is damaged: status: /,
    );
    await rm(file);
    expect((await failureOf(mergeBatchResults(files, { folder, parts: 1, rest: [] }, writing))).message).toContain(
      'There is no ',
    );
  });

  it('of 50,000 rows are merged in 48 MiB of heap, less than their text alone takes', async () => {
    const message = 'x'.repeat(1_200);
    await writeManifest(Array.from({ length: 50_000 }, (_, index) => row(index + 1)));
    await mkdir(path.join(root, runFiles.parts));
    for (let part = 0; part < 250; part += 1) {
      const lines = Array.from({ length: 200 }, (_, index) => {
        return `${JSON.stringify({ item: part * 200 + index + 1, status: 'failed', code: 'X', message })}\n`;
      });
      await writeFile(path.join(root, runFiles.parts, `${String(part + 1).padStart(6, '0')}.jsonl`), lines.join(''));
    }
    const [counts] = (await once(
      new Worker(
        `const { parentPort, workerData } = require('node:worker_threads');
        const { mergeBatchResults } = require(workerData.dist + '/batch/batch-steps.js');
        const { createLocalFiles } = require(workerData.dist + '/storage/local-files.js');
        mergeBatchResults(createLocalFiles(), { folder: workerData.folder, parts: 250, rest: [] }, { jobKey: 'batch', attempt: 1 })
          .then(({ counts }) => parentPort.postMessage(counts));`,
        {
          eval: true,
          workerData: { dist: path.resolve(__dirname, '../../dist'), folder },
          resourceLimits: { maxOldGenerationSizeMb: 48 },
        },
      ),
      'message',
    )) as [unknown];
    expect(counts).toEqual({ succeeded: 0, failed: 50_000, skipped: 0, cancelled: 0 });
  });
});

describe('the manifest', () => {
  it('can be read from any item, and done rows are skipped', async () => {
    await writeManifest([row(1), row(2, true), row(3), row(4, true), row(5), row(6, true)]);
    const first = await readBatchItems(files, { folder, from: { byte: 0, item: 0 }, limit: 2 });
    expect([first.isEnd, first.items.map(({ item }) => item.item)]).toEqual([false, [1, 3]]);
    const rest = await readBatchItems(files, { folder, from: first.next, limit: 2 });
    expect([rest.items.map(({ item }) => item.item), rest.isEnd]).toEqual([[5], true]);
    // A run that ended after its first item continues with the third.
    const [one] = first.items;
    const again = await readBatchItems(files, { folder, from: { byte: one?.next ?? 0, item: 1 }, limit: 9 });
    expect(again.items.map(({ item }) => item.item)).toEqual([3, 5]);
  });

  it('has errors with the right line number, also when reading starts in the middle', async () => {
    await writeManifest([row(1), row(2), row(3), row(3)]);
    const { next } = await readBatchItems(files, { folder, from: { byte: 0, item: 0 }, limit: 2 });
    const failure = await failureOf(readBatchItems(files, { folder, from: next, limit: 9 }));
    expect(failure.message).toContain('line 4 is damaged: item 3 comes after item 3');
  });

  it('may lack its final line feed, and contain characters that are split between reads', async () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => row(index + 1));
    await writeFile(path.join(root, runFiles.manifest), rows.map((each) => JSON.stringify(each)).join('\n'));
    const items: BatchItem[] = [];
    let from = { byte: 0, item: 0 };
    for (let isEnd = false; !isEnd;) {
      const read = await readBatchItems(files, { folder, from, limit: 9_999 });
      items.push(...read.items.map(({ item }) => item));
      ({ next: from, isEnd } = read);
    }
    expect(items).toEqual(rows);
  });
});
