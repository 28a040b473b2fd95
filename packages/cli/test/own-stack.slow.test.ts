import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { fileconv, fileconvProcess, newFolder, startProcess } from './fileconv';
import { until } from '../../../test/support/until';

describe('fileconv convert with its own stack', () => {
  it('converts nothing twice when it is killed and repeated', async () => {
    const folder = await newFolder();
    await writeFile(path.join(folder, 'a.md'), '# A\n');
    const args = ['convert', 'a.md', '--to', 'html', '--json'];
    // Without callbacks, the job learns nothing before its first poll.
    const env = { FILECONV_POLICIES_FIRST_CHECK_AFTER: '5 seconds', FILECONV_CALLBACKS_EMBEDDED: 'off' };
    const first = startProcess(args, { cwd: folder, env });
    const accepted = () =>
      readIfThere(path.join(folder, '.fileconv/logs/service.log')).split('md → html: successful').length - 1;
    await until('a conversion', () => accepted() === 1);
    await first.end('SIGKILL');

    const again = await fileconvProcess(args, { cwd: folder });
    expect(again).toMatchObject({ code: 0 });
    expect(JSON.parse(again.stdout)).toMatchObject({
      ...{ status: 'converted', joined: true, possiblyChargedTwice: false },
    });
    expect(accepted()).toBe(1);
  });

  it('bypasses the proxy of the environment', async () => {
    const folder = await newFolder();
    await writeFile(path.join(folder, 'a.md'), '# A\n');
    const proxy = 'http://127.0.0.1:1';
    const env = { http_proxy: proxy, https_proxy: proxy, FILECONV_POLICIES_POLL_AFTER: '1 hour' };
    const ended = await fileconvProcess(['convert', 'a.md', '--to', 'html'], { cwd: folder, env });
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('proxy') as string });
  });
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function listJobsOf({ pid, temporal }: { pid: number; temporal: string }) {
  const cwd = await newFolder();
  const record = {
    pid,
    startedBy: 'up',
    since: new Date().toISOString(),
    taskQueue: 'file-conversion',
    service: { url: 'http://127.0.0.1:1' },
    temporal: { address: temporal, namespace: 'default' },
  };
  await mkdir(path.join(cwd, '.fileconv'));
  await writeFile(path.join(cwd, '.fileconv/stack.json'), JSON.stringify(record));
  await fileconv(['config', 'allow'], { cwd });
  return fileconv(['job', 'list'], { cwd });
}

it('says that the stack was killed, without naming TEMPORAL_ADDRESS, which was never set', async () => {
  const { code, stderr } = await listJobsOf({ pid: 999_999_999, temporal: '127.0.0.1:1' });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: Temporal can't be reached at 127\.0\.0\.1:1.* was ended from outside\. Start it again: fileconv up\n$/,
  );
  expect(stderr).not.toContain('TEMPORAL_ADDRESS');
});

it('says that a hanging stack does not answer, not that it has ended', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  try {
    const temporal = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { code, stderr } = await listJobsOf({ pid: process.pid, temporal });
    expect(code).toBe(1);
    expect(stderr).toMatch(/ runs as process \d+ and does not answer\. If that lasts, end it with Ctrl-C there/);
  } finally {
    silent.close();
  }
});
