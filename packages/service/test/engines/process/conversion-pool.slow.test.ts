import { mkdtempSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { engineNamesOfNpm } from '../../../src/engines/engine';
import { ConversionPool } from '../../../src/engines/process/conversion-pool';
import { FormatCatalog, requireFormat, requireRoute, wordFor } from '../../../src/engines/formats';
import { tellOutOfFiles } from '../../../../../test/support/out-of-files';
import { startTestService } from '../../support';

const contents = {
  md: '# Heading\n',
  svg: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
};

interface TestPool {
  convert: (from: 'md' | 'svg', to: string) => Promise<void>;
  /** Contains the folder of each conversion process. */
  conversions: string;
}

async function withPool(use: (pool: TestPool) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pool-'));
  const inFolder = (name: string) => path.join(folder, name);
  for (const [name, content] of Object.entries(contents)) writeFileSync(inFolder(`a.${name}`), content);
  const conversions = inFolder('conversions');
  const pool = new ConversionPool({ ...{ maxMemoryBytes: 2 ** 31, maxWrittenBytes: 2 ** 31 }, folder: conversions });
  const catalog = new FormatCatalog();
  let results = 0;
  const convert: TestPool['convert'] = async (from, to) => {
    const input = requireFormat(catalog, from, 'input');
    const output = requireFormat(catalog, to, 'output');
    results += 1;
    const outcome = await pool.convert({
      route: requireRoute(catalog, input, output),
      ...{ inputPath: inFolder(`a.${from}`), outputPath: inFolder(`${results}.${to}`), title: 'a' },
      ...{ inputFormat: input.name, outputFormat: output.name, parameters: {}, timeoutMs: 100_000 },
    });
    expect(outcome).toMatchObject({ status: 'successful', retired: false });
  };
  try {
    await use({ convert, conversions });
  } finally {
    await pool.close();
  }
}

it('sends a conversion to a process that has loaded its engine, and of several to the one with the fewest engines', () =>
  withPool(async ({ convert, conversions }) => {
    /** The process folders that the conversion used. */
    const where = async (from: 'md' | 'svg', to: string) => {
      const seen = new Set<string>();
      const watchers = readdirSync(conversions).map((name) =>
        watch(path.join(conversions, name), (_event, file) => {
          if (file === 'conversion') seen.add(name);
        }),
      );
      await convert(from, to);
      for (const watcher of watchers) watcher.close();
      return [...seen];
    };
    await convert('md', 'html');
    const [documents] = readdirSync(conversions);
    await Promise.all([convert('svg', 'png'), convert('svg', 'png')]);
    const pictures = readdirSync(conversions).find((name) => name !== documents);
    expect([await where('svg', 'png'), await where('md', 'html')]).toEqual([[pictures], [documents]]);
    expect(await where('svg', 'png')).toEqual([pictures]);
  }));

it('keeps one process for the next conversion even if all become idle at the same time', () =>
  withPool(async ({ convert, conversions }) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date', 'hrtime'] });
    try {
      await Promise.all([convert('svg', 'png'), convert('svg', 'png'), convert('svg', 'png')]);
      const before = readdirSync(conversions);
      expect(before).toHaveLength(3);
      jest.advanceTimersByTime(60_000);
      while (readdirSync(conversions).length > 1) await new Promise(setImmediate);
      await convert('svg', 'png');
      const left = readdirSync(conversions);
      expect([left.length, before]).toEqual([1, expect.arrayContaining(left)]);
    } finally {
      jest.useRealTimers();
    }
  }));

it('survives running out of file descriptors, and converts again afterwards', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pool-'));
  writeFileSync(path.join(folder, 'a.md'), contents.md);
  const told = tellOutOfFiles({
    // Enough to copy the source, too few to start a process.
    free: 4,
    before: `
      const { ConversionPool } = load('packages/service/dist/engines/process/conversion-pool.js');
      const folder = ${JSON.stringify(folder)};
      const limits = { maxMemoryBytes: 2 ** 31, maxWrittenBytes: 2 ** 31 };
      const pool = new ConversionPool({ ...limits, folder: folder + '/conversions' });
      load('packages/service/dist/engines/process/confinement.js').confinements();
      const request = {
        route: { engine: 'pandoc', reader: 'gfm', writer: 'html' },
        ...{ inputPath: folder + '/a.md', outputPath: folder + '/a.html', title: 'a' },
        ...{ inputFormat: 'md', outputFormat: 'html', parameters: {}, timeoutMs: 100_000 },
      };`,
    told: 'pool.convert(request)',
  });
  const broken = { status: 'broken', message: expect.stringContaining('EMFILE') as string };
  expect(told).toMatchObject([broken, { status: 'successful' }]);
});

it('starts a process ahead of an expected conversion, which then uses it', async () => {
  const { client, dataDir, stop } = await startTestService({ expects: { input: 'markdown', output: 'html' } });
  const processes = () => readdirSync(path.join(dataDir, 'conversions'));
  try {
    while (!processes().some((name) => name.startsWith('process-'))) await sleep(20);
    const answer = await client.convertToBytes({ name: 'a.md', data: contents.md }, 'html');
    expect(answer.bytes.toString()).toContain('Heading');
    expect(processes()).toEqual([expect.stringMatching(/^process-/)]);
  } finally {
    await stop();
  }
});

it('starts nothing for an expected pair whose engine reads no Markdown', () => {
  const catalog = new FormatCatalog({ engines: engineNamesOfNpm });
  expect(wordFor(catalog, { input: 'svg', output: 'png' })).toBeUndefined();
  expect(wordFor(catalog, { input: 'nonsense', output: 'png' })).toBeUndefined();
  expect(wordFor(catalog, { input: 'docx', output: 'html' })?.route.engine).toBe('pandoc');
});
