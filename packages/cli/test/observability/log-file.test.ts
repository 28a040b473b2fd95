import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { symlink, truncate } from 'node:fs/promises';
import path from 'node:path';
import { boundLogs, maxLogBytes, openLogFile } from '../../src/observability/log-file';
import { until } from '../../../../test/support/until';
import { newFolder } from '../fileconv';

it('a log is private to its owner, and is appended to', async () => {
  const file = path.join(await newFolder(), 'worker.log');
  for (const line of ['a', 'b']) {
    const log = openLogFile(file);
    log.write(line);
    log.close();
    expect(log.write('of a log that is closed')).toBe(false);
  }
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['ab', 0o600]);
});

it('never writes a log through a link', async () => {
  const folder = await newFolder();
  const [bashrc, log] = [path.join(folder, '.bashrc'), path.join(folder, 'worker.log')];
  writeFileSync(bashrc, 'mine');
  await symlink(bashrc, log);
  expect(() => openLogFile(log)).toThrow(`${log} is a link, and no log is written through one.`);
  expect(readFileSync(bashrc, 'utf8')).toBe('mine');
});

it('rotates a log that has grown too long while its writer continues', async () => {
  const folder = await newFolder();
  const [file, other] = [path.join(folder, 'worker.log'), path.join(folder, 'other.txt')];
  writeFileSync(file, 'first\n');
  writeFileSync(other, '');
  for (const each of [file, other]) await truncate(each, maxLogBytes + 1);
  const log = openLogFile(file);
  const stop = boundLogs(folder, 10);
  try {
    log.write('after\n');
    expect(readFileSync(file, 'utf8')).toBe('after\n');
    expect(statSync(`${file}.previous`).size).toBe(maxLogBytes + 1);
    expect(statSync(other).size).toBe(maxLogBytes + 1);
    await truncate(file, maxLogBytes + 2);
    await until('it is cut again', () => statSync(`${file}.previous`).size === maxLogBytes + 2);
  } finally {
    stop();
    log.close();
  }
});
