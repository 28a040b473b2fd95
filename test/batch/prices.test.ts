import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { estimateVcredits } from '../../src/batch/prices';
import { folderUri, makeTree } from './folder';
import { createLocalFiles } from '../../src/storage/local-files';

const sha256 = 'a'.repeat(64);

/** A finished run with this many files of each pair, each at this price. */
async function ran(root: string, batch: string, pairs: Record<string, { files: number; each: number }>): Promise<void> {
  const folder = path.join(root, batch, 'run-0001');
  await mkdir(folder, { recursive: true });
  const [items, results]: [object[], object[]] = [[], []];
  for (const [pair, { files, each: vcredits }] of Object.entries(pairs)) {
    const [extension = '', output = ''] = pair.split(' ');
    for (let file = 0; file < files; file += 1) {
      const item = items.length + 1;
      const uri = `file:///out/${item}.${output}`;
      items.push({ item, source: `file:///in/${item}.${extension}`, output, destination: uri });
      // Suspect results are paid for as well.
      const status = file === 0 ? 'suspect' : 'succeeded';
      results.push({ item, status, vcredits, output: { uri, name: `${item}`, bytes: 1, sha256 } });
    }
  }
  const lines = (all: object[]) => all.map((each) => `${JSON.stringify(each)}\n`).join('');
  await writeFile(path.join(folder, 'manifest.jsonl'), lines(items));
  await writeFile(path.join(folder, 'results.jsonl'), lines(results));
  await writeFile(path.join(root, batch, 'ledger.jsonl'), '{"run":1,"vcredits":0}\n');
}

const pair = (input: string, output: string, rows: number, paid = 0) => {
  return { input, extension: input, output, rows, bytes: 1, paid };
};

it('takes the price of each pair from this batch and its neighbours, and leaves out unknown prices', async () => {
  const root = await makeTree({});
  await ran(root, 'own', { 'md pdf': { files: 3, each: 1 }, 'docx pdf': { files: 1, each: 10 } });
  await ran(root, 'other batch', { 'md pdf': { files: 3, each: 3 }, 'png webp': { files: 5, each: 100 } });
  await ran(root, 'damaged', { 'md pdf': { files: 1, each: 50 } });
  await writeFile(path.join(root, 'damaged', 'run-0001', 'results.jsonl'), 'no JSON\n');
  await ran(root, 'of another app', { 'md pdf': { files: 9, each: 50 } });
  const request = { app: 'other', plan: { folder: 'file:///', cwd: 'file:///', what: 'last' } };
  await writeFile(path.join(root, 'of another app', 'request.json'), JSON.stringify({ request }));
  const estimate = (formats: ReturnType<typeof pair>[]) =>
    estimateVcredits(createLocalFiles(), { app: 'mine', batchFolder: folderUri(root, 'own'), formats });
  expect(await estimate([pair('md', 'pdf', 100), pair('docx', 'pdf', 2), pair('odt', 'pdf', 7)])).toEqual({
    vcredits: 220,
    from: 7,
    unknown: 7,
  });
  expect(await estimate([pair('md', 'pdf', 100, 90), pair('odt', 'pdf', 7, 7)])).toMatchObject({
    vcredits: 20,
    unknown: 0,
  });
  expect(await estimate([pair('odt', 'pdf', 7)])).toBeUndefined();
  const run = { number: 1, folder: folderUri(root, 'own/run-0001') };
  const own = { app: 'mine', batchFolder: folderUri(root, 'own'), formats: [pair('md', 'pdf', 100)], run };
  expect(await estimateVcredits(createLocalFiles(), own)).toEqual({ vcredits: 300, from: 3, unknown: 0 });
});
