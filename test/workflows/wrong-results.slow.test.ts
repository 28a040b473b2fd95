import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { presentation } from '../protection/made-files';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerOutput } from '../support/stub-service';

const rig = rigOfEachTest({ slots: 20 });

/** How files of twelve formats begin. */
const starts: Readonly<Record<string, string>> = {
  csv: 'name,price\n',
  docx: 'PK\x03\x04',
  gif: 'GIF89a',
  html: '<!doctype html><p>A page that was asked for</p>',
  jpg: '\xff\xd8\xff\xe0',
  md: '# A text\n<h1 align="center">of its own</h1>\n',
  mp3: 'ID3\x04',
  pdf: '%PDF-1.7\n',
  png: '\x89PNG\r\n\x1a\n',
  tiff: 'II*\0',
  txt: '{"error":"a text may say so"}',
  webp: 'RIFF\0\0\0\0WEBP',
};
const formats = Object.keys(starts);
const hasStart = (format: string) => !['csv', 'html', 'md', 'txt'].includes(format);
const contentOf = (format: string) =>
  Buffer.from(`${starts[format] ?? ''} the whole file`.padEnd(2_000, '.'), 'latin1');

/** What stands at the service in place of a result, and has the size that is announced; only `cut` has another. */
const wrong: Readonly<Record<string, (format: string) => Buffer>> = {
  page: () => Buffer.from('<!DOCTYPE html><html><body>Back soon.</body></html>'),
  json: () => Buffer.from('{"error":{"code":"BUSY"}}'),
  empty: () => Buffer.alloc(0),
  cut: (format) => contentOf(format).subarray(0, 700),
  other: (format) => contentOf(format === 'png' ? 'gif' : 'png'),
  locked: () => presentation('secret'),
};
const isTold = (kind: string, format: string) => kind === 'empty' || kind === 'cut' || hasStart(format);

it('no wrong result gets its name and each is paid once, and no right one of twelve formats is refused', async () => {
  const results = new Map<string, Buffer>();
  const destination = (name: string) => pathToFileURL(path.join(rig.folder, 'out', name)).href;
  const names = formats.flatMap((format) => [
    ...Array.from({ length: 8 }, (_, index) => `right-${index}.${format}`),
    ...Object.keys(wrong).flatMap((kind) => (isTold(kind, format) ? [`${kind}.${format}`] : [])),
  ]);
  const items = await Promise.all(
    names.map(async (name) => {
      const source = pathToFileURL(await rig.source(`${name}.src`)).href;
      return { source, output: path.extname(name).slice(1), destination: destination(name) };
    }),
  );
  const nameOf = (data: Record<string, unknown>) =>
    (rig.stub.conversions.get(String(data['connector'])) ?? '').replace(/\.src$/, '');
  const resultOf = (name: string) => {
    const [kind = '', format = ''] = name.split('.');
    return (wrong[kind] ?? contentOf)(format);
  };
  for (const name of names) results.set(name, resultOf(name));
  rig.stub.on('download/url', ({ data }, response) => {
    const name = nameOf(data);
    const { length } = name.startsWith('cut.') ? contentOf(name.slice(4)) : resultOf(name);
    answerOutput(response, { connector: data['connector'], name, size: length });
  });
  rig.stub.on('download/url/get', ({ data }, response) => {
    const result = resultOf(nameOf(data));
    response.writeHead(200, { 'content-length': result.length }).end(result);
  });
  const batch = await rig.client.startBatch({ name: rig.taskQueue, items, policies: quickPolicies });
  const right = names.filter((name) => name.startsWith('right'));
  const counts = { succeeded: right.length, failed: names.length - right.length };
  const failures = { UNREADABLE_RESPONSE: counts.failed };
  expect(await batch.result()).toMatchObject({ ...counts, failures });
  const out = path.join(rig.folder, 'out');
  expect((await readdir(out)).sort()).toEqual([...right].sort());
  for (const name of right) expect(await readFile(path.join(out, name))).toEqual(results.get(name));
  expect(rig.stub.count('convert/file')).toBe(names.length);
});
