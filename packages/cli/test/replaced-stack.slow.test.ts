import os from 'node:os';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultCacheDir, obtainTemporalCli, startTemporalServer } from '../src/dev-server';
import { readStackRecord } from '../src/stack/stack-record';
import { until } from '../../../test/support/until';
import { filesBelow, newFolder, removeFolders, startProcess } from './fileconv';
import { noisyPng } from './samples';

afterAll(removeFolders);

it('a batch that waits for a stack which was stopped goes on with the one that is started as it says, though another took its port', async () => {
  const cwd = await newFolder();
  await mkdir(path.join(cwd, 'in'));
  for (let n = 0; n < 40; n += 1) await writeFile(path.join(cwd, 'in', `${n}.png`), noisyPng(64 + n));
  // The well-known port may be that of another stack of this machine.
  const wellKnown = createServer()
    .on('error', () => undefined)
    .listen(7233, '127.0.0.1')
    .unref();
  const up = () => startProcess(['up'], { cwd, env: { FILECONV_SERVICE_CONVERSION_CONCURRENCY: '1' } });
  const first = up();
  await first.until(/Ctrl-C stops everything/);
  const batch = startProcess(['batch', 'run', 'in', '--to', 'webp', '--out', 'out', '--name', 'n'], { cwd });
  await until(
    'something is converted',
    async () => (await filesBelow(path.join(cwd, 'out')).catch(() => [])).length > 0,
  );
  const { temporal } = (await readStackRecord(path.join(cwd, '.fileconv'))) ?? {};
  first.child.kill('SIGTERM');
  await first.ended;
  const cliPath = await obtainTemporalCli({
    env: process.env,
    cacheDir: defaultCacheDir(process.env, os.homedir()),
  });
  const port = Number(temporal?.address.split(':')[1]);
  const rival = await startTemporalServer({ cliPath, env: process.env, port, uiPort: false });
  await batch.until(/waits for a stack: none runs in/);
  // Longer than a single request to Temporal is repeated.
  await sleep(25_000);
  const second = up();
  await second.until(/Ctrl-C stops everything/);
  const ended = await batch.ended;
  second.child.kill('SIGTERM');
  await second.ended;
  await rival.stop();
  wellKnown.close();
  expect(ended.stderr).not.toContain('error:');
  expect(ended.stdout).toContain('All 40 files are converted.');
  expect(ended.code).toBe(0);
});
