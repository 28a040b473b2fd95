import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { lockDataDir } from '../../src/shared/database';
import { createDataDir } from '../support';

const compiledDatabase = path.resolve(__dirname, '../../dist/shared/database.js');
const run = promisify(execFile);

it('a new database can be opened by several processes at once', async () => {
  const dataDir = await createDataDir();
  // All wait for one moment, when each has loaded what it needs.
  const script = `const { openDatabase } = require(${JSON.stringify(compiledDatabase)});
    while (Date.now() < Number(process.argv[2]));
    try { openDatabase(process.argv[1]).close(); } catch (error) { console.log(error.message); }`;
  for (const round of ['1', '2', '3']) {
    const file = path.join(dataDir, `${round}.db`);
    const at = String(Date.now() + 2_000);
    const opened = [1, 2, 3, 4, 5].map(() => run(process.execPath, ['-e', script, file, at]));
    expect((await Promise.all(opened)).map(({ stdout }) => stdout)).toEqual(['', '', '', '', '']);
  }
  await rm(dataDir, { recursive: true });
});

it('a lock that can not be taken says why, and blames another service only when there is one', async () => {
  const dataDir = await createDataDir();
  const lock = path.join(dataDir, 'service.lock');
  const unlock = lockDataDir(lock, dataDir);
  expect(() => lockDataDir(lock, dataDir)).toThrow(`Another conversion service is using ${dataDir}`);
  unlock();
  await writeFile(lock, 'no database '.repeat(100));
  expect(() => lockDataDir(lock, dataDir)).toThrow(`${lock}: the database cannot be used: file is not a database`);
  await rm(dataDir, { recursive: true });
});
