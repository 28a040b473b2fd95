import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../test/support/until';
import { countConvertRequests } from './batch-pictures';
import { filesBelow, newFolder, removeFolders, startFileconv } from './fileconv';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

jest.setTimeout(120_000);
let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack({ FILECONV_CALLBACKS_EMBEDDED: 'off', FILECONV_POLICIES_MAX_CHECK_INTERVAL: '2s' });
});
afterAll(async () => {
  await stack.stop();
  await removeFolders();
});

const args = ['convert', 'a.png', '--to', 'gif'];
const request = (folder: string, checkAfter = '50 ms') =>
  startFileconv(args, { cwd: folder, env: { ...stack.env, FILECONV_POLICIES_FIRST_CHECK_AFTER: checkAfter } });
const requests = () => countConvertRequests({ cwd: stack.stateDir, env: stack.env });
const joined = expect.stringMatching(
  /^a\.png: job convert\/a\.png-\w{16} converts it already; waiting for that one\.\n$/,
) as unknown;

async function folderWithPicture(): Promise<string> {
  const folder = await newFolder();
  await writeFile(path.join(folder, 'a.png'), noisyPng(8));
  return folder;
}

/** A folder with a file whose job the service has accepted, and which runs on without its command. */
async function interruptedOne(): Promise<string> {
  const folder = await folderWithPicture();
  const before = await requests();
  const command = request(folder, '5 seconds');
  await until('an accepted task', async () => (await requests()) > before);
  command.child.kill('SIGINT');
  expect((await command.ended).code).toBe(130);
  return folder;
}

it('a file is waited for by a second command, however the first one ended', async () => {
  const before = await requests();
  const folder = await interruptedOne();
  const again = await request(folder).ended;
  expect(again).toMatchObject({ code: 0, stderr: joined });
  expect(await filesBelow(folder)).toEqual(['a.gif', 'a.png']);
  expect(await requests()).toBe(before + 1);
});

it('a file is converted once for two commands at the same time', async () => {
  const folder = await folderWithPicture();
  const before = await requests();
  const both = await Promise.all([request(folder, '2 seconds').ended, request(folder, '2 seconds').ended]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.map(({ stderr }) => stderr).sort()).toEqual(['', joined]);
  expect(await requests()).toBe(before + 1);
});

it('a file is refused while its job converts what the file held before', async () => {
  const folder = await interruptedOne();
  await writeFile(path.join(folder, 'a.png'), noisyPng(9));
  const again = await request(folder).ended;
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toMatch(
    /^error: a\.png → gif: the file has changed since job (\S+) uploaded it, and that job still runs\. Wait for it \(fileconv job watch \1\) or end it \(fileconv job cancel \1\), then convert again\n$/,
  );
});
