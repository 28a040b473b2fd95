import { Stores } from '../../src/storage/stores';
import { MemoryFiles } from '../support/memory-files';
import { failureOf } from './folder';

const asked = (uri: string, source?: string) => ({ uri, suggestedName: '', onExisting: 'fail' as const, source });

it('the scheme of a URI selects the store, regardless of case', async () => {
  const memory = new MemoryFiles();
  const stores = new Stores({ memory, other: new MemoryFiles() });
  memory.files.set('memory:///a.md', Buffer.from('content'));
  expect(await stores.openSource('memory:///a.md')).toMatchObject({ size: 7 });
  expect(stores.of('MEMORY:///a.md')).toBe(memory);
  expect(await stores.look('memory:///a.md')).toMatchObject({ kind: 'file' });
  await stores.remove('memory:///a.md');
  expect(memory.files.size).toBe(0);
});

it('an unknown scheme is a permanent UNSUPPORTED_URI, and the message names the known ones', async () => {
  const stores = new Stores({ file: new MemoryFiles(), s3: new MemoryFiles() });
  const failure = await failureOf(stores.openSource('gs://bucket/a.md?key=secret'));
  expect(failure).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
  expect(failure.message).toMatch(/no store for gs: URIs is registered here; there are: file:, s3:\. .*register/);
  expect(failure.message).not.toContain('secret');
  expect(await failureOf(stores.prepareDestination(asked('out/a.pdf')))).toMatchObject({ code: 'UNSUPPORTED_URI' });
});

it('a source with a different scheme is not compared with the destination', async () => {
  const memory = new MemoryFiles();
  const seen: unknown[] = [];
  const prepare = memory.prepareDestination.bind(memory);
  memory.prepareDestination = (options) => {
    seen.push(options.source);
    return prepare(options);
  };
  const stores = new Stores({ memory });
  await stores.prepareDestination(asked('memory:///a.pdf', 's3://bucket/a.pdf'));
  await stores.prepareDestination(asked('memory:///a.pdf', 'memory:///a.md'));
  expect(seen).toEqual([undefined, 'memory:///a.md']);
});

it('a store that is a function is created once, for its first URI', () => {
  let made = 0;
  const stores = new Stores({
    memory() {
      made += 1;
      return new MemoryFiles();
    },
  });
  expect(made).toBe(0);
  expect(stores.of('memory:///a')).toBe(stores.of('memory:///b'));
  expect(made).toBe(1);
});

it('a scheme that no URI can have is rejected when the worker starts', () =>
  expect(() => new Stores({ 's3:': new MemoryFiles() })).toThrow(/"s3:" is not a URI scheme/));
