import { spawn } from 'node:child_process';
import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { lockDataDir, openDatabase } from '../../src/shared/database';
import { createDataDir } from '../support';

const compiledDatabase = path.resolve(__dirname, '../../dist/shared/database.js');

it('several processes can open a new database at once', async () => {
  const dataDir = await createDataDir();
  // The processes load first and open the database on command, all at the same time.
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

it('a database and its SQLite side files are private to their owner, even in a readable folder', async () => {
  const dataDir = await createDataDir();
  await chmod(dataDir, 0o755);
  const db = openDatabase(path.join(dataDir, 'service.db'));
  const names = await readdir(dataDir);
  expect(names.sort()).toEqual(['service.db', 'service.db-shm', 'service.db-wal']);
  for (const name of names) expect((await stat(path.join(dataDir, name))).mode & 0o077).toBe(0);
  db.close();
});

it('a failed lock gives the reason, and blames another service only if there is one', async () => {
  const dataDir = await createDataDir();
  const lock = path.join(dataDir, 'service.lock');
  const unlock = lockDataDir(lock, dataDir);
  expect(() => lockDataDir(lock, dataDir)).toThrow(`Another conversion service is using ${dataDir}`);
  unlock();
  await writeFile(lock, 'no database '.repeat(100));
  expect(() => lockDataDir(lock, dataDir)).toThrow(`${lock}: the database cannot be used: file is not a database`);
});
