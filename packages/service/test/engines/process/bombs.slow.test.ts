import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { until } from '../../../../../test/support/until';
import { conversionProcess, processesBelow } from '../../processes';
import { serviceOfAllTests, startTestService, tinyPng, tinySvg } from '../../support';
import { docxBomb, entitySvg, hugePng, longGif, nestedUseSvg, svgWithImage } from '../bombs';
import { xlsx } from '../xlsx';

/** Malicious files: each ends its own task within the limits, while the service and other conversions continue. */

const conversionTimeoutMs = 3_000;

const limits = { conversionTimeoutMs, conversionConcurrency: 2, maxConversionMemoryBytes: 640 * 1024 * 1024 };
const { client } = serviceOfAllTests(limits);

beforeAll(async () => {
  // Loads the engines in both processes first, so that the time limits below do not include it.
  const warm = async () => {
    await client.convert({ name: 'warm.svg', data: tinySvg }, 'png');
    await client.convert({ name: 'warm.md', data: '# warm' }, 'pdf');
  };
  await Promise.all([warm(), warm()]);
});

const overTime = /longer than 3 s and was ended/;
const dataUri = (type: string, data: Buffer): string => `data:${type};base64,${data.toString('base64')}`;

describe('a bomb ends with FAILED_CONVERT while another conversion continues', () => {
  const bombs: [string, string, () => string | Buffer, string, RegExp][] = [
    [
      'an SVG whose groups multiply',
      'use.svg',
      () => nestedUseSvg(10),
      'png',
      /more than 500000 referenced elements|3 s/,
    ],
    ['an SVG whose entities multiply', 'laughs.svg', entitySvg, 'png', /damaged/],
    ['a PNG of 30,000 by 30,000 pixels', 'black.png', () => hugePng(30_000), 'webp', /more than 128 megapixels/],
    ['a PNG that only claims to be larger', 'claim.png', () => hugePng(50_000, { rows: 9 }), 'png', /128 megapixels/],
    ['a PNG that native code works on for long', 'slow.png', () => hugePng(11_000), 'avif', /3 s|640 MiB/],
    ['a GIF of 100,000 frames', 'long.gif', () => longGif({ frames: 100_000, side: 1 }), 'webp', overTime],
    ['a GIF of 100,000 larger frames', 'wide.gif', () => longGif({ frames: 100_000, side: 99 }), 'gif', /megapixels/],
    ['a zip bomb', 'bomb.docx', () => docxBomb(3_000), 'md', /unpacks to 3001 MiB; .* at most 512 MiB/],
    ['a zip bomb that lies', 'liar.docx', () => docxBomb(3_000, { declaredBytes: 999 }), 'md', /3 s|640 MiB/],
    [
      'a spreadsheet that lies',
      'liar.xlsx',
      () => docxBomb(3_000, { declaredBytes: 999 }),
      'html',
      /3 s|640 MiB|damaged/,
    ],
    [
      'a spreadsheet of 2,000,000 cells',
      'cells.xlsx',
      () => xlsx([{ rows: `<row>${'<c><v>1</v></c>'.repeat(1_000)}</row>`.repeat(2_000) }]),
      'html',
      /has 2000000 cells|3 s|640 MiB/,
    ],
    ['quotes within quotes', 'deep.md', () => '>'.repeat(20_000) + 'x', 'html', /3 s|nested/],
  ];

  it.each(bombs)('%s', async (_title, name, create, output, message) => {
    const connector = await client.upload(name, create());
    const exploding = client.post('convert/file', { connector, include: ['entity', 'result'], parameters: { output } });
    expect((await client.convert({ name: 'fine.svg', data: tinySvg }, 'png')).output.status).toBe('successful');
    const { status, body, error } = await exploding;
    expect([status, body.entity?.status, error.code]).toEqual([200, 'completed', 'FAILED_CONVERT']);
    expect(error.message).toMatch(message);
  });
});

it('a conversion over the memory limit ends with FAILED_CONVERT, and the next one has all the memory again', async () => {
  // On a slow machine the usual limit of time may come before that of memory.
  const limits = {
    conversionTimeoutMs: 900_000,
    conversionConcurrency: 1,
    maxConversionMemoryBytes: 640 * 1024 * 1024,
  };
  const { client: other, stop } = await startTestService(limits);
  const native = `![x](${dataUri('image/png', hugePng(30_000))})`;
  const inWebAssembly = 'word '.repeat(800_000);
  for (const [name, data, output] of [
    ['native.md', native, 'pdf'],
    ['wasm.txt', inWebAssembly, 'docx'],
  ] as const) {
    const { error } = await other.convert({ name, data }, output);
    expect(error.code).toBe('FAILED_CONVERT');
    expect(error.message).toMatch(/needs more than the 640 MiB of memory/);
    expect((await other.convert({ name: 'fine.md', data: '# fine' }, 'html')).output.status).toBe('successful');
  }
  await stop();
});

it('leaves an SVG with exponential groups out of a document, with a warning', async () => {
  const { client: other, stop } = await startTestService({ conversionConcurrency: 1 });
  const data = `![x](${dataUri('image/svg+xml', Buffer.from(nestedUseSvg(8)))})\n`;
  const { output, warning } = await other.convert({ name: 'image.md', data }, 'pdf');
  expect(output.status).toBe('successful');
  expect(warning['PDF_SIMPLIFIED']).toMatch(/nodes limit/);
  await stop();
});

it('never makes a request or reads a file for external references, whatever the format', async () => {
  const { client, dataDir, stop } = await startTestService({ conversionConcurrency: 1 });
  let requests = 0;
  const server = http.createServer((_request, response) => {
    requests += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`;
  const drawn = async (data: string): Promise<Buffer> =>
    (await client.convertToBytes({ name: 'a.svg', data }, 'png')).bytes;
  const blank = await drawn(svgWithImage(''));
  const neighbour = await client.upload('red.png', tinyPng);
  const file = path.join(dataDir, 'uploads', neighbour);
  for (const href of [url, neighbour, file, `file://${file}`]) {
    expect((await drawn(svgWithImage(href))).equals(blank)).toBe(true);
  }

  const text = (entity: string): string =>
    `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x ${entity}>]><svg xmlns="http://www.w3.org/2000/svg" width="99" height="30"><text y="20">&x;</text></svg>`;
  const empty = await drawn(text('""'));
  expect((await drawn(text('"root"'))).equals(empty)).toBe(false);
  for (const entity of ['SYSTEM "file:///etc/passwd"', `SYSTEM "${url}"`]) {
    const { output } = await client.convert({ name: 'a.svg', data: text(entity) }, 'png');
    if (output.connector === undefined) continue;
    expect((await client.download(output.connector)).bytes.equals(empty)).toBe(true);
  }

  const page = `<img src="${url}"><link rel="stylesheet" href="${url}"><script src="${url}"></script><iframe src="${url}"></iframe>`;
  for (const output of ['pdf', 'html', 'docx', 'epub', 'md']) {
    expect((await client.convert({ name: 'a.html', data: page }, output)).output.status).toBe('successful');
  }
  server.close();
  expect(requests).toBe(0);
  await stop();
});

it('a closed service leaves no conversion processes, whatever they were doing', async () => {
  const { client: busy, stop } = await startTestService({ conversionConcurrency: 2 });
  const converting = () => processesBelow(process.pid, conversionProcess);
  const before = converting();
  await Promise.all(['a.svg', 'b.svg'].map((name) => busy.convert({ name, data: tinySvg }, 'png')));
  expect(converting().length).toBeGreaterThan(before.length);
  const id = await busy.startConversion(await busy.upload('slow.png', hugePng(11_000)), 'avif');
  await until('it is being converted', async () => {
    return (await busy.post('convert/status', { connector: id })).output.status === 'pending';
  });
  await stop();
  expect(converting()).toEqual(before);
});
