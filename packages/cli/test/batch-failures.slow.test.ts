import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { convertedPictures, countConvertRequests, folderWithPictures, writePicture } from './batch-pictures';
import { fileconvProcess as fileconv, linesOf, parseJson, permissionsHold, removeFolders } from './fileconv';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
  await removeFolders();
});

/** A hundred here; FILECONV_TEST_ITEMS=1000 is the long form. */
const total = Number(process.env['FILECONV_TEST_ITEMS'] ?? 100);
const reportSchema = z.object({
  counts: z.record(z.string(), z.number()),
  failures: z.array(z.object({ code: z.string(), count: z.number(), items: z.array(z.object({ item: z.number() })) })),
  files: z.object({ csv: z.string(), html: z.string() }),
});

jest.setTimeout(60_000 + total * 2_400);

/** Every tenth file is bad, each in one of five ways. */
const badItems = Array.from({ length: Math.floor(total / 10) }, (_, index) => 3 + 10 * index);
const kindOf = (way: number) => badItems.filter((_, index) => index % 5 === way);
const bad = { damaged: kindOf(0), empty: kindOf(1), missing: kindOf(2), unknownFormat: kindOf(3), denied: kindOf(4) };

/** A folder with a manifest of pictures, of which those above can't be converted. */
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

it('exactly the bad files of a batch fail, by code; fixed, retry runs only those', async () => {
  const cwd = await folderWithBadFiles();
  const options = { cwd, env: stack.env, timeoutMs: total * 1_200 };
  const first = await fileconv(['batch', 'run', 'list.csv', '--name', 'some bad', '--json'], options);
  expect(first.code).toBe(1);
  const report = reportSchema.parse(parseJson(first.stdout));
  expect(report.counts).toMatchObject({
    items: total,
    succeeded: total - badItems.length,
    failed: badItems.length,
    skipped: 0,
    cancelled: 0,
  });
  const grouped = Object.fromEntries(
    report.failures.map(({ code, items }) => [code, items.map(({ item }) => item).sort((one, other) => one - other)]),
  );
  expect(grouped).toEqual({
    FAILED_CONVERT: permissionsHold ? bad.damaged : [...bad.damaged, ...bad.denied].sort((one, other) => one - other),
    SOURCE_EMPTY: bad.empty,
    SOURCE_NOT_FOUND: bad.missing,
    INVALID_INPUT_FORMAT: bad.unknownFormat,
    ...(permissionsHold && { SOURCE_UNREADABLE: bad.denied }),
  });
  const good = await convertedPictures(cwd, { total, wanted: total - badItems.length });
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
  const retried = await fileconv(['batch', 'retry', 'some bad'], options);
  const done = total - badItems.length;
  const unmended = bad.unknownFormat.length;
  expect(linesOf(retried.stderr)).toEqual([
    `warning: ${bad.unknownFormat.length} files of format nonsense can't be converted, and will fail without being uploaded (--unconvertible skip leaves them out): the service knows no format nonsense. See: fileconv formats`,
    `Batch some bad: ${badItems.length - unmended} files to convert, ${done} files done before.`,
  ]);
  expect(linesOf(retried.stdout)[0]).toBe(
    `${unmended} of ${total.toLocaleString('en-US')} files failed. ${badItems.length - unmended} converted; ${done} skipped: their results are there already.`,
  );
  expect(retried.stdout).toContain("this runs only what failed: fileconv batch retry 'some bad'");
  expect(retried.code).toBe(1);
  // Those of a format that there is none of are not sent.
  expect((await countConvertRequests(options)) - before).toBe(badItems.length - unmended);
  expect(await convertedPictures(cwd, { total, wanted: total - unmended })).toHaveLength(total - unmended);
});
