import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createHttpsFiles } from '../../../src/storage/https/index';
import { createLocalFiles } from '../../../src/storage/local-files';
import { Stores } from '../../../src/storage/stores';
import { cleanUp, onCleanUp } from '../../storage/folder';
import { addFiles, makeTree } from '../folder';
import { messagesOf, plan, readItems, sha256, writeResults, retry } from './planning';

/** Batches with files from the web, whose hosts come and go. */

afterEach(cleanUp);

const https = createHttpsFiles({ plainHttp: true, allowedHosts: ['127.0.0.1'], stallMs: 2_000 });
const files = new Stores({ file: createLocalFiles(), http: https });

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanUp(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/b.md`;
}

/** Ends a planned run as if each of its files had been converted. */
async function convertAll(cwd: string, contents: readonly string[], run = 1): Promise<void> {
  const items = await readItems(cwd, run);
  const results = items.map(({ item, destination, done }, index) => {
    const name = path.basename(destination);
    const content = contents[index] ?? '';
    return done
      ? { item, status: 'skipped' as const }
      : {
          ...{ item, status: 'succeeded' as const },
          source: { bytes: content.length, sha256: sha256(content) },
          output: { uri: destination, name, bytes: name.length, sha256: sha256(name) },
        };
  });
  await addFiles(
    cwd,
    Object.fromEntries(
      items.map(({ destination }) => [`out/${path.basename(destination)}`, path.basename(destination)]),
    ),
  );
  await writeResults(cwd, results, run);
}

it('a host that does not answer delays no other file, and its file is left to a job', async () => {
  const cwd = await makeTree({ 'a.md': 'a' });
  const planned = await plan(cwd, { files, what: { sources: ['a.md', 'http://127.0.0.1:1/b.md'], to: 'pdf' } });
  expect(planned).toMatchObject({ rows: 2, todo: 2, problems: { count: 0 } });
  expect(messagesOf(planned.warnings)).toEqual([
    expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:1\/b\.md cannot be looked at: .*ECONNREFUSED.*\. Its job will try again, unless it was converted before\.$/,
    ),
  ]);
});

it('a file is not converted again because its host is down', async () => {
  const cwd = await makeTree({ 'a.md': 'a' });
  let status = 200;
  const url = await serve((_request, response) => response.writeHead(status, { 'content-length': 1 }).end('b'));
  const what = { sources: ['a.md', url], to: 'pdf' };
  await plan(cwd, { files, what });
  await convertAll(cwd, ['a', 'b']);
  status = 503;
  const again = await plan(cwd, { files, what });
  expect(again).toMatchObject({ rows: 2, done: 2, todo: 0 });
  expect(messagesOf(again.warnings)).toEqual([expect.stringMatching(/unless it was converted before\.$/)]);
  await writeResults(
    cwd,
    [1, 2].map((item) => ({ item, status: 'skipped' })),
  );
  expect(await retry(cwd, { files })).toMatchObject({ rows: 2, done: 2 });
});

it('a file that is excluded stays so while its host is down', async () => {
  const cwd = await makeTree({ 'a.md': 'a' });
  const what = { sources: ['a.md', 'http://127.0.0.1:1/b.md'], to: 'pdf' };
  expect(await plan(cwd, { files, what: { ...what, exclude: ['b.md'] } })).toMatchObject({ rows: 1 });
  const since = await plan(cwd, { files, what: { ...what, modifiedSince: 1 } });
  expect(since).toMatchObject({ rows: 1 });
  expect(messagesOf(since.warnings)).toEqual([expect.stringMatching(/ECONNREFUSED.*\. It is left out\.$/)]);
});

it('other content of the same length is detected even if the server reports no version', async () => {
  const cwd = await makeTree({ 'a.md': 'a' });
  let content = 'one';
  const url = await serve((_request, response) => response.writeHead(200, { 'content-length': 3 }).end(content));
  const what = { sources: [url], to: 'pdf' };
  await plan(cwd, { files, what });
  await convertAll(cwd, ['one']);
  expect(await plan(cwd, { files, what, mayBeDone: true })).toMatchObject({ done: 1, todo: 0, run: { number: 2 } });
  await convertAll(cwd, ['one'], 2);
  content = 'two';
  expect(await plan(cwd, { files, what })).toMatchObject({ done: 0, todo: 1 });
});

it("the web can't hold results", async () => {
  const planned = await plan(await makeTree({ 'in/a.md': 'a' }), { files, out: 'https://example.com/out/' });
  expect(messagesOf(planned.problems)).toEqual(['The web can only be read. Name a folder elsewhere with --out.']);
});
