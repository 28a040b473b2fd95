import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { convertedPictures, countConvertRequests, folderWithPictures, writePicture } from './batch-pictures';
import { fileconv, linesOf, parseJson, permissionsHold, removeFolders } from './fileconv';
import type { RunningStack } from './running-stack';
import { startStack } from './running-stack';
import { noisyPng } from './samples';

jest.setTimeout(180_000);
let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
  await removeFolders();
});

const total = 100;
const reportSchema = z.object({
  counts: z.record(z.string(), z.number()),
  failures: z.array(z.object({ code: z.string(), count: z.number(), items: z.array(z.object({ item: z.number() })) })),
  files: z.object({ csv: z.string(), html: z.string() }),
});

/** What each of the bad files is, two of a kind. */
const bad = {
  damaged: [3, 13],
  empty: [23, 33],
  missing: [43, 53],
  unknownFormat: [63, 73],
  denied: [83, 93],
};
const badItems = Object.values(bad).flat();

/** A folder with a manifest of 100 pictures, of which those above can't be converted. */
async function folderWithBadFiles(): Promise<string> {
  const folder = await folderWithPictures(total);
  const file = (n: number) => path.join(folder, 'in', `p${String(n).padStart(3, '0')}.png`);
  for (const n of bad.damaged) await writeFile(file(n), noisyPng(8).subarray(0, 60));
  for (const n of bad.empty) await writeFile(file(n), '');
  // Root reads everything: where capabilities can't be dropped these are damaged too.
  for (const n of bad.denied) {
    if (permissionsHold) await chmod(file(n), 0o000);
    else await writeFile(file(n), noisyPng(8).subarray(0, 60));
  }
  await writeManifest(folder);
  return folder;
}

async function writeManifest(folder: string): Promise<void> {
  const rows = Array.from({ length: total }, (_, index) => {
    const name = `p${String(index + 1).padStart(3, '0')}`;
    const source = bad.missing.includes(index + 1) ? `in/gone-${name}.png` : `in/${name}.png`;
    const input = bad.unknownFormat.includes(index + 1) ? 'nonsense' : '';
    return `${source},gif,${input},out/${name}.gif`;
  });
  await writeFile(path.join(folder, 'list.csv'), ['source,output,input,destination', ...rows, ''].join('\n'));
}

it('of 100 files exactly the ten bad ones fail, by code; mended, retry runs only those', async () => {
  const cwd = await folderWithBadFiles();
  const options = { cwd, env: stack.env, timeoutMs: 120_000 };
  const first = await fileconv(['batch', 'run', 'list.csv', '--name', 'ten bad', '--json'], options);
  expect(first.code).toBe(1);
  const report = reportSchema.parse(parseJson(first.stdout));
  expect(report.counts).toMatchObject({ items: total, succeeded: 90, failed: 10, skipped: 0, cancelled: 0 });
  const grouped = Object.fromEntries(
    report.failures.map(({ code, items }) => [code, items.map(({ item }) => item).sort((one, other) => one - other)]),
  );
  expect(grouped).toEqual({
    FAILED_CONVERT: permissionsHold ? bad.damaged : [...bad.damaged, ...bad.denied],
    SOURCE_EMPTY: bad.empty,
    SOURCE_NOT_FOUND: bad.missing,
    INVALID_INPUT_FORMAT: bad.unknownFormat,
    ...(permissionsHold && { SOURCE_UNREADABLE: bad.denied }),
  });
  const good = await convertedPictures(cwd, { total, wanted: 90 });
  expect(good).toEqual(Array.from({ length: total }, (_, index) => index + 1).filter((n) => !badItems.includes(n)));
  const csv = await readFile(report.files.csv, 'utf8');
  expect(linesOf(csv)).toHaveLength(total + 1);
  expect(await readFile(report.files.html, 'utf8')).toContain('SOURCE_NOT_FOUND');

  const before = await countConvertRequests(options);
  for (const n of [...bad.damaged, ...bad.empty]) await writePicture(cwd, n);
  for (const n of bad.missing) {
    await writeFile(path.join(cwd, 'in', `gone-p${String(n).padStart(3, '0')}.png`), noisyPng(8));
  }
  for (const n of bad.denied) {
    await chmod(path.join(cwd, 'in', `p${String(n).padStart(3, '0')}.png`), 0o600);
    await writePicture(cwd, n);
  }
  const retried = await fileconv(['batch', 'retry', 'ten bad'], options);
  expect(linesOf(retried.stderr)).toEqual(['Batch ten bad: 10 files to convert, 90 files done before.']);
  expect(linesOf(retried.stdout)[0]).toBe(
    '2 of 100 files failed. 8 converted; 90 skipped: their results are there already.',
  );
  expect(retried.stdout).toContain("this runs only what failed: fileconv batch retry 'ten bad'");
  expect(retried.code).toBe(1);
  // The two of a format that there is none of are asked for once more, or refused before.
  expect((await countConvertRequests(options)) - before).toBeLessThanOrEqual(10);
  expect(await convertedPictures(cwd, { total, wanted: 98 })).toHaveLength(98);
});
