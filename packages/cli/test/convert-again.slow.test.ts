import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '../../../test/support/until';
import { countConvertRequests } from './batch-pictures';
import { fileconv, filesBelow, newFolder, startProcess } from './fileconv';
import { stackOfAllTests } from './running-stack';
import { noisyPng } from './samples';

const stack = stackOfAllTests({ FILECONV_CALLBACKS_EMBEDDED: 'off', FILECONV_POLICIES_MAX_CHECK_INTERVAL: '2s' });

const args = ['convert', 'a.png', '--to', 'gif'];
const request = (folder: string, checkAfter = '50 ms') =>
  startProcess(args, { cwd: folder, env: { ...stack.env, FILECONV_POLICIES_FIRST_CHECK_AFTER: checkAfter } });
const requests = () => countConvertRequests({ cwd: stack.stateDir, env: stack.env });

async function folderWithPicture(): Promise<string> {
  const folder = await newFolder();
  await writeFile(path.join(folder, 'a.png'), noisyPng(8));
  return folder;
}

/** A folder with a file whose job the service has accepted; its command was interrupted, the job goes on. */
async function interruptedOne(): Promise<string> {
  const folder = await folderWithPicture();
  const before = await requests();
  // Leaves time to type the next command on a busy machine.
  const command = request(folder, '20 seconds');
  await until('an accepted task', async () => (await requests()) > before);
  const { code, stderr } = await command.end();
  expect([code, stderr]).toEqual([
    130,
    expect.stringMatching(
      /^Interrupted\. The job continues without this command; the result will be where you asked for it\. The same command again waits for it\.\n([^\n]*\n)?See it continue: fileconv job list\n$/,
    ) as unknown,
  ]);
  return folder;
}

it('a second command waits for the job of a file, however the first command ended', async () => {
  const before = await requests();
  const folder = await interruptedOne();
  const again = request(folder);
  expect((await again.ended).code).toBe(0);
  expect(again.stderr()).toMatch(
    /^a\.png: job \S+\/a\.gif-\w{16} is already converting it; waiting for that job\.\na\.png has been waiting since \d\d:\d\d:\d\d UTC for the service to finish the conversion\. It tries again at \d\d:\d\d:\d\d UTC\.\n$/,
  );
  expect(await filesBelow(folder)).toEqual(['a.gif', 'a.png']);
  expect(await requests()).toBe(before + 1);
});

it('refuses a file while its job converts the earlier content', async () => {
  const folder = await interruptedOne();
  await writeFile(path.join(folder, 'a.png'), noisyPng(9));
  const again = await request(folder).ended;
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toMatch(
    /^error: a\.png → gif: the file has changed since job (\S+) uploaded it, and that job still runs\. Wait for it \(fileconv job watch \1\) or end it \(fileconv job cancel \1\), then convert again\n$/,
  );
});

describe('standard input', () => {
  const pipes = () => path.join(stack.stateDir, 'pipes');
  const left = () => readdir(pipes());
  const page = (name: string) => `# ${name}\n`;
  const holds = (name: string) => expect.stringContaining(name) as unknown;

  async function piped(input: string, checkAfter = '50 ms') {
    const env = { ...stack.env, FILECONV_POLICIES_FIRST_CHECK_AFTER: checkAfter };
    return startProcess(['convert', '-', '--from', 'md', '--to', 'html', '--out', '-'], {
      cwd: await newFolder(),
      env,
      input,
    });
  }

  /** Pipes input, and ends the command with the signal once the service has accepted the job. */
  async function ended(input: string, signal: 'SIGKILL' | 'SIGINT') {
    const before = await requests();
    const command = await piped(input, '10 seconds');
    await until('an accepted task', async () => (await requests()) > before);
    command.child.kill(signal);
    return { ...(await command.ended), before };
  }

  it('is converted although its command was killed, and job show names the result', async () => {
    await ended(page('Fetched'), 'SIGKILL');
    const [name = ''] = await left();
    const folder = path.join(pipes(), name);
    const result = path.join(folder, 'result.html');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(path.join(folder, 'stdin.md'))).mode & 0o777).toBe(0o600);
    await until('the result', () => existsSync(result));
    expect(await readFile(result, 'utf8')).toContain('Fetched');
    const job = async (...args: string[]) =>
      (await fileconv(['job', ...args, '--json'], { cwd: stack.stateDir, env: stack.env })).stdout;
    const [, workflowId = ''] = /"([^"\s]+\/result\.html-\w{16})"/.exec(await job('list')) ?? [];
    expect(await job('show', workflowId)).toContain(pathToFileURL(result).href);
    expect(await (await piped(page('Fetched'))).ended).toMatchObject({ code: 0, stdout: holds('Fetched') });
    expect(await left()).toEqual([]);
  });

  it("piped again gets the result of the killed command's job, and is converted only once", async () => {
    const { before } = await ended(page('Joined'), 'SIGKILL');
    const again = await (await piped(page('Joined'))).ended;
    expect(again).toMatchObject({ code: 0, stdout: holds('Joined') });
    // The first job may or may not have ended by now.
    expect(again.stderr).toMatch(
      /^standard input: job \S+\/result\.html-\w{16} is already converting it|: its job has converted standard input\./,
    );
    expect(await requests()).toBe(before + 1);
    expect(await left()).toEqual([]);
  });

  it('of an interrupted command is converted to the place that was printed', async () => {
    const { code, stdout, stderr } = await ended(page('Interrupted'), 'SIGINT');
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    const [, result = ''] = /the result will be (\S.*result\.html), which the same command/.exec(stderr) ?? [];
    await until('the result', () => existsSync(result));
  });

  it('of two simultaneous commands is converted for each, even with equal content', async () => {
    const both = await Promise.all([piped(page('Twice'), '5 seconds'), piped(page('Twice'), '5 seconds')]);
    for (const command of both) expect(await command.ended).toMatchObject({ code: 0, stdout: holds('Twice') });
  });
});
