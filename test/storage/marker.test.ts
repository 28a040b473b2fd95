import { readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createFolderSharing } from '../../src/storage/folders';
import { cleanUp, failureOf, listFolder, makeFolder, uriOf } from './folder';

afterEach(cleanUp);

const sharing = createFolderSharing();
const job = { jobKey: 'job-1', runId: 'run-1' };

it('a marker makes the folder that is to hold the result', async () => {
  const folder = await makeFolder();
  await sharing.leaveMarker({ uri: `${uriOf(folder, 'new', 'deeper')}/`, ...job });
  expect(await listFolder(path.join(folder, 'new', 'deeper'))).toEqual([
    expect.stringMatching(/^\.job\.[0-9a-f]{12}\.0\.part$/),
  ]);
});

it('a marker writes to nothing that somebody has put in its place', async () => {
  const folder = await makeFolder();
  const marker = { uri: uriOf(folder, 'out.pdf'), ...job };
  await sharing.leaveMarker(marker);
  const [name = ''] = await readdir(folder);
  await sharing.removeMarker(marker);
  await writeFile(path.join(folder, 'target'), 'precious');
  await symlink('target', path.join(folder, name));
  await sharing.leaveMarker(marker);
  expect(await readFile(path.join(folder, 'target'), 'utf8')).toBe('precious');
});

it('attempts that leave their marker at the same moment all succeed', async () => {
  const folder = await makeFolder();
  const marker = { uri: uriOf(folder, 'new', 'out.pdf'), ...job };
  for (let round = 0; round < 20; round += 1) {
    expect(await Promise.all([sharing.leaveMarker(marker), sharing.leaveMarker(marker)])).toEqual([true, true]);
    expect(await sharing.seesMarker(marker)).toBe(true);
  }
});

it('nobody sees a marker in a folder that is not there, or is none', async () => {
  const folder = await makeFolder();
  await writeFile(path.join(folder, 'file'), 'x');
  for (const name of ['missing', 'file']) {
    expect(await sharing.seesMarker({ uri: uriOf(folder, name, 'out.pdf'), ...job })).toBe(false);
  }
  expect((await failureOf(sharing.leaveMarker({ uri: uriOf(folder, 'file', 'out.pdf'), ...job }))).code).toBe(
    'DESTINATION_NOT_WRITABLE',
  );
});

it('a process sees the same files as itself, and tells nothing of its machine', () => {
  expect(sharing.view).toBe(createFolderSharing().view);
  expect(sharing.view).toMatch(/^[0-9a-f]{12}$/);
});
