import { spawn } from 'node:child_process';
import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { lockDataDir, openDatabase } from '../../src/shared/database';
import { createDataDir } from '../support';

const compiledDatabase = path.resolve(__dirname, '../../dist/shared/database.js');

it('a new database can be opened by several processes at once', async () => {
  const dataDir = await createDataDir();
  // All wait for one word, when each has loaded what it needs.
  const script = `const { openDatabase } = require(${JSON.stringify(compiledDatabase)});
    console.log('ready');
    process.stdin.on('data', (file) => {
      try { openDatabase(String(file)).close(); console.log('opened'); } catch (error) { console.log(error.message); }
    });`;
  const opening = Array.from({ length: 5 }, () => {
    const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  const said = () => Promise.all(opening.map(async ({ lines }) => (await lines.next()).value as unknown));
  expect(new Set(await said())).toEqual(new Set(['ready']));
  for (const round of ['1', '2', '3']) {
    for (const { child } of opening) child.stdin.write(path.join(dataDir, `${round}.db`));
    expect(await said()).toEqual(opening.map(() => 'opened'));
  }
  for (const { child } of opening) child.kill();
});

it('a database is for its owner alone, with what SQLite puts beside it, also in a folder that others may look into', async () => {
  const dataDir = await createDataDir();
  await chmod(dataDir, 0o755);
  const db = openDatabase(path.join(dataDir, 'service.db'));
  const names = await readdir(dataDir);
  expect(names.sort()).toEqual(['service.db', 'service.db-shm', 'service.db-wal']);
  for (const name of names) expect((await stat(path.join(dataDir, name))).mode & 0o077).toBe(0);
  db.close();
});

it('a lock that can not be taken says why, and blames another service only when there is one', async () => {
  const dataDir = await createDataDir();
  const lock = path.join(dataDir, 'service.lock');
  const unlock = lockDataDir(lock, dataDir);
  expect(() => lockDataDir(lock, dataDir)).toThrow(`Another conversion service is using ${dataDir}`);
  unlock();
  await writeFile(lock, 'no database '.repeat(100));
  expect(() => lockDataDir(lock, dataDir)).toThrow(`${lock}: the database cannot be used: file is not a database`);
});
