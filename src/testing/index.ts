import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  StorageError,
  type FileStore,
  type StorageErrorCode,
  type WalkedFile,
  type WalkOptions,
  type WriteDestinationOptions,
} from '../storage/index';

/** A fresh, empty store for one rule of the contract. */
export interface FileStoreUnderTest {
  readonly store: FileStore;
  /** URI of a name in a fixed folder of the store; of the folder itself if the name is empty. */
  readonly uriOf: (name: string) => string;
  /** Creates or replaces a file without using the store. In a name such as `sub/a.md`, `sub` is a folder. */
  readonly put: (name: string, content: string) => Promise<void>;
  /** Contents by name of all files in the folder, including temporary ones. Not called while it has subfolders. */
  readonly contents: () => Promise<Record<string, string>>;
}

/** A rule for `FileStore`s on which jobs rely. Independent of any test runner: it holds if `check` resolves. */
export interface FileStoreRule {
  readonly title: string;
  readonly check: (subject: FileStoreUnderTest) => Promise<void>;
}

const policies = ['fail', 'skip', 'overwrite', 'rename'] as const;

const checks: Readonly<Record<string, FileStoreRule['check']>> = {
  async 'a source tells name and size, and opens its bytes as often as asked'({ store, uriOf, put }) {
    await put('a.md', 'content');
    const source = await store.openSource(uriOf('a.md'));
    assert.deepEqual([source.name, source.size], ['a.md', 7]);
    for (let time = 0; time < 2; time += 1) assert.equal(await text(source.open()), 'content');
  },
  'a source that is not there is SOURCE_NOT_FOUND, for good': ({ store, uriOf }) =>
    fails(() => store.openSource(uriOf('missing.md')), 'SOURCE_NOT_FOUND', false),
  async 'an empty source is SOURCE_EMPTY, for good'({ store, uriOf, put }) {
    await put('empty.md', '');
    await fails(() => store.openSource(uriOf('empty.md')), 'SOURCE_EMPTY', false);
  },
  async 'a source that is another file by the time it is read is SOURCE_CHANGED, and may be tried again'({
    store,
    uriOf,
    put,
  }) {
    await put('a.md', 'content');
    const source = await store.openSource(uriOf('a.md'));
    await put('a.md', 'other content');
    await fails(() => text(source.open()), 'SOURCE_CHANGED', true);
  },
  async 'a URI that is none of the store’s is UNSUPPORTED_URI, for good'({ store }) {
    const uri = 'no-such-scheme://a/b';
    await fails(() => store.openSource(uri), 'UNSUPPORTED_URI', false);
    const asked = { uri, suggestedName: 'a.pdf', onExisting: 'fail' as const };
    await fails(() => store.prepareDestination(asked), 'UNSUPPORTED_URI', false);
  },

  async 'a destination is a file, or a folder that ends with a slash, and preparing it writes nothing'(subject) {
    const { store, uriOf } = subject;
    const prepare = (uri: string) => store.prepareDestination({ uri, suggestedName: 'b.pdf', onExisting: 'fail' });
    assert.deepEqual(await prepare(uriOf('a.pdf')), { kind: 'write', uri: uriOf('a.pdf') });
    assert.deepEqual(await prepare(uriOf('')), { kind: 'write', uri: uriOf('b.pdf') });
    assert.deepEqual(await subject.contents(), {});
  },
  async 'a suggested name never leaves the folder, and is never hidden'({ store, uriOf }) {
    for (const suggestedName of ['../../a.pdf', '/a.pdf', '..\\a.pdf', '.a.pdf', '..', '']) {
      const { uri } = await store.prepareDestination({ uri: uriOf(''), suggestedName, onExisting: 'fail' });
      assert.match(uri.slice(uriOf('').length), /^[^/\\.][^/\\]*$/);
      assert.ok(uri.startsWith(uriOf('')));
    }
  },
  async 'preparing finds what exists, by policy; a later attempt leaves that to the write'({ store, uriOf, put }) {
    await put('a.pdf', 'old');
    const asked = { uri: uriOf('a.pdf'), suggestedName: '' };
    await fails(() => store.prepareDestination({ ...asked, onExisting: 'fail' }), 'DESTINATION_EXISTS', false);
    for (const [onExisting, kind] of [
      ['skip', 'skip'],
      ['overwrite', 'write'],
      ['rename', 'write'],
    ] as const) {
      assert.deepEqual(await store.prepareDestination({ ...asked, onExisting }), { kind, uri: asked.uri });
    }
    for (const onExisting of policies) {
      assert.equal((await store.prepareDestination({ ...asked, onExisting, attempt: 2 })).kind, 'write');
    }
  },
  async 'a destination that is the source is DESTINATION_IS_SOURCE, for good'({ store, uriOf, put }) {
    await put('a.md', 'content');
    const asked = { uri: uriOf('a.md'), suggestedName: '', onExisting: 'overwrite' as const, source: uriOf('a.md') };
    await fails(() => store.prepareDestination(asked), 'DESTINATION_IS_SOURCE', false);
  },

  async 'a write stores the bytes under their name and tells size and SHA-256'(subject) {
    const stored = await write(subject, { expectedSize: 3 });
    const sha256 = createHash('sha256').update('new').digest('hex');
    assert.deepEqual(stored, { uri: subject.uriOf('a.pdf'), name: 'a.pdf', bytes: 3, sha256, skipped: false });
    assert.deepEqual(await subject.contents(), { 'a.pdf': 'new' });
  },
  async 'the name is free until the last byte is there'(subject) {
    const seen: string[] = [];
    const body = newBody(async () => seen.push(...Object.keys(await subject.contents())));
    await write(subject, { body });
    assert.ok(!seen.includes('a.pdf'));
  },
  ...sizeMismatch(2),
  ...sizeMismatch(4),
  async 'a failure of the body passes through as it is, and leaves nothing'(subject) {
    const broken = new Error('the connection broke');
    const body = newBody(() => Promise.reject(broken));
    assert.equal(await failureOf(() => write(subject, { body })), broken);
    assert.deepEqual(await subject.contents(), {});
  },
  async 'an aborted write fails with the reason of its signal, and leaves nothing'(subject) {
    const reason = new Error('cancelled');
    const signal = AbortSignal.abort(reason);
    assert.equal(await failureOf(() => write(subject, { signal })), reason);
    assert.deepEqual(await subject.contents(), {});
  },
  async 'what appears while the bytes come is respected, by policy'(subject) {
    const arriving = () => newBody(() => subject.put('a.pdf', 'rival'));
    await fails(() => write(subject, { body: arriving() }), 'DESTINATION_EXISTS', false);
    const skipped = await write(subject, { body: arriving(), onExisting: 'skip' });
    assert.deepEqual([skipped.skipped, skipped.bytes], [true, 5]);
    const renamed = await write(subject, { body: arriving(), onExisting: 'rename' });
    assert.notEqual(renamed.uri, subject.uriOf('a.pdf'));
    assert.deepEqual(await subject.contents(), { 'a.pdf': 'rival', [renamed.name]: 'new' });
    await write(subject, { body: arriving(), onExisting: 'overwrite' });
    assert.equal((await subject.contents())['a.pdf'], 'new');
  },
  async 'a later attempt takes the same bytes for what a lost one has finished, and no others'(subject) {
    for (const onExisting of policies) {
      await subject.put('a.pdf', 'new');
      const { uri, skipped } = await write(subject, { onExisting, attempt: 2 });
      assert.deepEqual([uri, skipped], [subject.uriOf('a.pdf'), false]);
    }
    await subject.put('a.pdf', 'old');
    await fails(() => write(subject, { attempt: 2 }), 'DESTINATION_EXISTS', false);
    assert.deepEqual(await subject.contents(), { 'a.pdf': 'old' });
  },
  async 'nothing gets its name when it must not, and it is asked again until it may'(subject) {
    const lost = new Error('another attempt took over');
    assert.equal(await failureOf(() => write(subject, { mayCommit: () => Promise.reject(lost) })), lost);
    assert.deepEqual(await subject.contents(), {});
    const answers = [Promise.resolve(), Promise.resolve(), undefined];
    await write(subject, { mayCommit: () => answers.shift() });
    assert.equal(answers.length, 0);
    assert.deepEqual(await subject.contents(), { 'a.pdf': 'new' });
  },
  async 'there may be nothing to discard, and what is finished stays'(subject) {
    const discard = () => subject.store.discardPartial({ uri: subject.uriOf('a.pdf'), jobKey: 'job' });
    await discard();
    await write(subject, {});
    await discard();
    assert.deepEqual(await subject.contents(), { 'a.pdf': 'new' });
  },

  async 'a look tells what stands there, and by the stamp whether it was written to'({ store, uriOf, put }) {
    assert.equal((await store.look(uriOf('a.md'))).kind, 'none');
    await put('a.md', 'content');
    const [first, again] = [await store.look(uriOf('a.md')), await store.look(uriOf('a.md'))];
    assert.ok(first.kind === 'file' && first.bytes === 7);
    assert.deepEqual(again, first);
    const { stamp } = await store.openSource(uriOf('a.md'));
    if (stamp !== undefined) assert.equal(stamp, first.stamp);
    await put('a.md', 'changed');
    const changed = await store.look(uriOf('a.md'));
    assert.ok(changed.kind === 'file' && changed.stamp !== first.stamp && changed.identity === first.identity);
    assert.equal((await store.look(uriOf(''))).kind, 'folder');
  },
  async 'a read gives the bytes from any offset on, as often as asked'({ store, uriOf, put }) {
    await put('a.md', 'content');
    assert.equal(await text(store.read(uriOf('a.md'))), 'content');
    assert.equal(await text(store.read(uriOf('a.md'), { start: 3 })), 'tent');
    assert.equal(await text(store.read(uriOf('a.md'), { start: 7 })), '');
    await fails(() => text(store.read(uriOf('missing.md'))), 'SOURCE_NOT_FOUND', false);
  },
  async 'a URI names a file by what it escapes: batches percent-encode each segment of a path'({ store, uriOf, put }) {
    const uri = uriOf('') + encodeURIComponent('ä b,(1).md');
    await put('ä b,(1).md', 'content');
    assert.equal((await store.look(uri)).kind, 'file');
    assert.equal((await store.openSource(uri)).name, 'ä b,(1).md');
    assert.equal(await text(store.read(uri)), 'content');
  },
  async 'a walk finds every file below a folder once, in an order that stays'(subject) {
    const { store, uriOf } = subject;
    const names = await putTree(subject);
    const found = await walked(store, uriOf(''));
    assert.deepEqual(found.map(({ relative }) => relative).sort(), names);
    assert.deepEqual(await walked(store, uriOf('')), found);
    for (const { uri, relative, found: seen } of found) {
      assert.equal(uri, uriOf(relative));
      if (seen) assert.deepEqual(seen, await store.look(uri));
    }
    assert.deepEqual(await walked(store, uriOf('none/')), []);
  },
  async 'a walk goes no deeper than asked, and enters no folder that is declined'(subject) {
    const { store, uriOf } = subject;
    await putTree(subject);
    const names = async (options: WalkOptions) =>
      (await walked(store, uriOf(''), options)).map((each) => each.relative);
    assert.deepEqual((await names({ maxDepth: 1 })).sort(), ['.hidden', 'b.md', 'sub.md']);
    assert.deepEqual((await names({ maxDepth: 2 })).sort(), ['.hidden', 'b.md', 'sub.md', 'sub/a b.md', 'sub/z.md']);
    const asked: string[] = [];
    const enters = (relative: string) => {
      asked.push(relative);
      return relative !== 'sub/deep';
    };
    assert.deepEqual((await names({ enters })).sort(), ['.hidden', 'b.md', 'sub.md', 'sub/a b.md', 'sub/z.md']);
    assert.deepEqual(asked.sort(), ['sub', 'sub/deep']);
  },
  async 'an aborted walk fails with the reason of its signal'(subject) {
    await putTree(subject);
    const reason = new Error('cancelled');
    const walking = () => walked(subject.store, subject.uriOf(''), { signal: AbortSignal.abort(reason) });
    assert.equal(await failureOf(walking), reason);
  },
  async 'a walk shows no file that is not whole'(subject) {
    const seen: WalkedFile[] = [];
    const body = newBody(async () => seen.push(...(await walked(subject.store, subject.uriOf('')))));
    await write(subject, { body });
    assert.deepEqual(seen, []);
  },
  async 'what is removed is gone, with all that lies below a folder, and it may be gone before'(subject) {
    const { store, uriOf } = subject;
    await putTree(subject);
    for (let time = 0; time < 2; time += 1) {
      await store.remove(uriOf('b.md'));
      await store.remove(uriOf('sub/'));
    }
    assert.deepEqual((await walked(store, uriOf(''))).map(({ relative }) => relative).sort(), ['.hidden', 'sub.md']);
  },
  async 'a file that is moved has its new name alone; a store may move none'(subject) {
    const { store, uriOf, put } = subject;
    await put('a.md', 'content');
    if (!store.move) return;
    assert.equal(await moved(subject, 'a.md', 'sub/a b.md'), 'moved');
    assert.equal(await text(store.read(uriOf('sub/a b.md'))), 'content');
    assert.equal((await store.look(uriOf('a.md'))).kind, 'none');
    assert.equal(await store.move({ uri: uriOf('a.md'), to: uriOf('sub/c.md'), stamp: 'gone' }), 'changed');
  },
  async 'a file is not moved to a name that is taken, nor when it is another one than was seen'(subject) {
    const { store, uriOf, put } = subject;
    await put('a.md', 'content');
    await put('sub/a.md', 'other');
    if (!store.move) return;
    assert.equal(await moved(subject, 'a.md', 'sub/a.md'), 'taken');
    assert.equal(await moved(subject, 'a.md', 'sub/b.md', () => put('a.md', 'changed')), 'changed');
    assert.deepEqual(
      (await walked(store, uriOf(''))).map(({ relative }) => relative),
      ['a.md', 'sub/a.md'],
    );
    assert.equal(await text(store.read(uriOf('a.md'))), 'changed');
    assert.equal(await text(store.read(uriOf('sub/a.md'))), 'other');
  },
};

export const fileStoreContract: readonly FileStoreRule[] = Object.entries(checks).map(([title, check]) => ({
  title,
  check,
}));

function sizeMismatch(expectedSize: number): typeof checks {
  return {
    async [`3 bytes where ${expectedSize} were promised are SIZE_MISMATCH, may be tried again, and leave nothing`](
      subject,
    ) {
      await fails(() => write(subject, { expectedSize }), 'SIZE_MISMATCH', true);
      assert.deepEqual(await subject.contents(), {});
    },
  };
}

/** A body with the bytes `new`; calls `happen` before its end. */
function newBody(happen: () => unknown = () => undefined): Readable {
  return Readable.from(
    (async function* () {
      yield Buffer.from('new');
      await happen();
    })(),
  );
}

function write({ store, uriOf }: FileStoreUnderTest, options: Partial<WriteDestinationOptions>) {
  const usual = { uri: uriOf('a.pdf'), jobKey: 'job', attempt: 1, body: newBody(), onExisting: 'fail' } as const;
  return store.writeDestination({ ...usual, ...options });
}

/** Creates some files and returns their names, sorted. */
async function putTree({ put }: FileStoreUnderTest): Promise<string[]> {
  const names = ['.hidden', 'b.md', 'sub.md', 'sub/a b.md', 'sub/deep/c.md', 'sub/z.md'];
  for (const name of names) await put(name, name);
  return names;
}

async function walked(store: FileStore, folder: string, options?: WalkOptions): Promise<WalkedFile[]> {
  const files: WalkedFile[] = [];
  for await (const file of store.walk(folder, options)) files.push(file);
  return files;
}

/** `happen` is called between look and move. */
async function moved({ store, uriOf }: FileStoreUnderTest, from: string, to: string, happen?: () => Promise<void>) {
  const found = await store.look(uriOf(from));
  assert.ok(found.kind === 'file');
  await happen?.();
  return store.move?.({ uri: uriOf(from), to: uriOf(to), stamp: found.stamp });
}

async function failureOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return assert.fail('it did not fail');
}

async function fails(work: () => Promise<unknown>, code: StorageErrorCode, retryable: boolean): Promise<void> {
  const error = await failureOf(work);
  assert.ok(error instanceof StorageError, `not a StorageError: ${String(error)}`);
  assert.deepEqual([error.code, error.retryable], [code, retryable]);
}
