import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WriteDestinationOptions } from '../../src/storage/file-store';
import { createLocalFiles } from '../../src/storage/local-files';
import { fileStoreContract, type FileStoreUnderTest } from '../../src/testing';
import { MemoryFiles } from '../support/memory-files';
import { makeFolder, uriOf } from './folder';

const withoutLinks = createLocalFiles({
  link: () => Promise.reject(Object.assign(new Error('link'), { code: 'ENOTSUP' })),
});

async function localFiles(store = createLocalFiles()): Promise<FileStoreUnderTest> {
  const folder = path.join(await makeFolder(), 'files');
  await mkdir(folder);
  return {
    store,
    uriOf: (name) => (name === '' ? `${uriOf(folder)}/` : uriOf(folder, name)),
    async put(name, content) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), content);
    },
    async contents() {
      const names = await readdir(folder);
      const read = async (name: string) => [name, await readFile(path.join(folder, name), 'utf8')] as const;
      return Object.fromEntries(await Promise.all(names.map(read)));
    },
  };
}

function memoryFiles(store = new MemoryFiles()): Promise<FileStoreUnderTest> {
  const root = 'memory:///files/';
  const uriOf = (name: string) => root + name.split('/').map(encodeURIComponent).join('/');
  const nameOf = (uri: string) => decodeURIComponent(uri.slice(root.length));
  return Promise.resolve({
    store,
    uriOf,
    put: (name, content) => Promise.resolve(void store.files.set(uriOf(name), Buffer.from(content))),
    contents: () =>
      Promise.resolve(Object.fromEntries([...store.files].map(([uri, content]) => [nameOf(uri), content.toString()]))),
  });
}

describe.each([
  ['files of this machine', () => localFiles()],
  ['files of this machine, without hard links', () => localFiles(withoutLinks)],
  ['a store of one’s own', () => memoryFiles()],
])('%s', (_name, make) => {
  it.each(fileStoreContract)('$title', async ({ check }) => await check(await make()));
});

class PlainErrors extends MemoryFiles {
  override openSource(uri: string) {
    return super.openSource(uri).catch((error: unknown) => Promise.reject(new Error('404', { cause: error })));
  }
}

class Careless extends MemoryFiles {
  override writeDestination(options: WriteDestinationOptions) {
    return super.writeDestination({ ...options, onExisting: 'overwrite', expectedSize: undefined });
  }
}

class Forgetful extends MemoryFiles {
  override async writeDestination(options: WriteDestinationOptions) {
    this.files.set(options.uri, Buffer.from('half'));
    return super.writeDestination({ ...options, onExisting: 'overwrite', mayCommit: undefined });
  }
}

it.each([
  ['throws errors of its own', PlainErrors, [/SOURCE_NOT_FOUND/, /SOURCE_EMPTY/, /UNSUPPORTED_URI/]],
  [
    'takes whatever comes, over whatever stands there',
    Careless,
    [/2 were promised/, /4 were promised/, /respected/, /later attempt takes/],
  ],
  ['writes under the final name, whoever asked', Forgetful, [/free until the last/, /passes through/, /must not/]],
])('the contract detects a store that %s', async (_title, Store, titles) => {
  const broken: string[] = [];
  for (const { title, check } of fileStoreContract) {
    await check(await memoryFiles(new Store())).catch(() => broken.push(title));
  }
  for (const title of titles) expect(broken).toContainEqual(expect.stringMatching(title));
});
