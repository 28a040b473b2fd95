import { randomUUID } from 'node:crypto';
import { access, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { pdfOf, zipOf } from '../support/made-results';
import { answerOutput } from '../support/stub-service';

/** A faulty service: 60 results are wrong in eight ways, among 120 correct ones of twelve formats. */

const rig = rigOfAllTests();

const office = (part: string) => zipOf({ '[Content_Types].xml': '<Types/>', [part]: '<x/>'.repeat(500) });
const open = (type: string) =>
  Buffer.from(zipOf({ mimetype: type, 'content.xml': '<x/>'.repeat(500) }, { isStored: true }));
const picture = (format: 'png' | 'jpeg' | 'gif' | 'webp' | 'tiff') => {
  const noise = Buffer.from(Array.from({ length: 200 * 200 * 3 }, (_, index) => (index * 7_919) % 251));
  return sharp(noise, { raw: { width: 200, height: 200, channels: 3 } })
    .toFormat(format)
    .toBuffer();
};
const sample = (name: string) => readFile(path.resolve(__dirname, '../protection/samples', name));

const rightResults = async (): Promise<Record<string, Buffer>> => ({
  pdf: pdfOf(['', 'Hello']),
  docx: office('word/document.xml'),
  xlsx: office('xl/workbook.xml'),
  pptx: office('ppt/presentation.xml'),
  odt: open('application/vnd.oasis.opendocument.text'),
  ods: open('application/vnd.oasis.opendocument.spreadsheet'),
  epub: zipOf(
    { mimetype: 'application/epub+zip', 'META-INF/container.xml': '<x/>', 'a.opf': '<x/>'.repeat(500) },
    { isStored: true },
  ),
  png: await picture('png'),
  jpeg: await picture('jpeg'),
  gif: await picture('gif'),
  webp: await picture('webp'),
  tiff: await picture('tiff'),
});

/** Wrong results: what is wrong, the format and the bytes. */
async function wrongResults(right: Record<string, Buffer>): Promise<[what: string, format: string, bytes: Buffer][]> {
  const formats = Object.keys(right);
  const ofAll = (what: string, of: (format: string, index: number) => Buffer) =>
    formats.map((format, index): [string, string, Buffer] => [what, format, of(format, index)]);
  const part = (format: string) => right[format] ?? Buffer.alloc(0);
  const half = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * 0.6));
  const locked: [string, string, Buffer][] = [];
  for (const format of ['pdf', 'docx', 'xlsx', 'odt', 'ods']) {
    locked.push(['password', format, await sample(format === 'pdf' ? 'locked-r6.pdf' : `locked.${format}`)]);
  }
  return [
    ...ofAll('truncated', (format) => half(part(format))),
    ...ofAll('page', () => Buffer.from('<!doctype html><title>Sign in</title>')),
    ...ofAll('json', () => Buffer.from('{"message":"too many requests"}')),
    ...ofAll('other', (_format, index) => part(formats[(index + 1) % formats.length] ?? '')),
    ...ofAll('empty', () => Buffer.alloc(0)).slice(0, 4),
    ...locked,
    ['blank', 'pdf', pdfOf([''])],
    ['blank', 'pdf', pdfOf(['', '', ''])],
    ['pageless', 'pdf', pdfOf([])],
  ];
}

it('delivers none of the wrong results under its name, and calls none of the correct ones suspect', async () => {
  const right = await rightResults();
  const results = new Map<string, Buffer>();
  for (const [index, [what, format, bytes]] of (await wrongResults(right)).entries()) {
    results.set(`wrong-${what}-${index}.${format}`, bytes);
  }
  const wrong = results.size;
  for (let number = 0; number < 10; number += 1) {
    for (const [format, bytes] of Object.entries(right)) results.set(`right-${number}.${format}`, bytes);
  }
  expect([wrong, results.size - wrong]).toEqual([60, 120]);
  const resultOf = (task: unknown) => results.get((rig.stub.conversions.get(String(task)) ?? '').replace(/\.md$/, ''));
  rig.stub.on('download/url', ({ data: { connector } }, response) => {
    answerOutput(response, { connector, size: resultOf(connector)?.length, url: '/v1/download/url/get' });
  });
  rig.stub.on('download/url/get', ({ data: { connector } }, response) => void response.end(resultOf(connector)));

  const out = path.join(rig.folder, 'out');
  const items = await Promise.all(
    [...results.keys()].map(async (name) => ({
      source: await rig.source(`${name}.md`),
      output: path.extname(name).slice(1),
      destination: path.join(out, name),
    })),
  );
  const batch = await rig.client.startBatch({
    name: randomUUID(),
    items,
    policies: { ...quickPolicies, retryInitialInterval: 5, retryMaximumInterval: 5, check: 'opens' },
  });
  const { itemResults = [] } = await batch.result();
  const ends = new Map<string, string[]>();
  for (const { item, status, code = '' } of itemResults) {
    const name = path.basename(items[item - 1]?.destination ?? '').replace(/-\d+\./, '.');
    ends.set(`${status} ${code}`.trim(), [...(ends.get(`${status} ${code}`.trim()) ?? []), name]);
  }
  expect([...ends.keys()].sort()).toEqual(['failed UNREADABLE_RESPONSE', 'succeeded', 'suspect RESULT_SUSPECT']);
  expect(new Set(ends.get('succeeded'))).toEqual(new Set(Object.keys(right).map((format) => `right.${format}`)));
  expect(ends.get('suspect RESULT_SUSPECT')).toEqual(
    expect.arrayContaining(['wrong-blank.pdf', 'wrong-pageless.pdf', 'wrong-password.odt', 'wrong-truncated.png']),
  );
  for (const [name, bytes] of results) {
    if (name.startsWith('right')) expect(await readFile(path.join(out, name))).toEqual(bytes);
    else await expect(access(path.join(out, name))).rejects.toMatchObject({ code: 'ENOENT' });
  }
  const suspects = (await readdir(out)).filter((name) => name.endsWith('.suspect'));
  expect(suspects).toHaveLength(ends.get('suspect RESULT_SUSPECT')?.length ?? 0);
  expect([suspects.filter((name) => !name.startsWith('wrong')), rig.stub.conversions.size]).toEqual([[], 180]);
});
