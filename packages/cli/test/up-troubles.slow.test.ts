import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { linesOf, newFolder, startProcess } from './fileconv';
import { childrenOf } from './processes';

/** `fileconv up` reports trouble with its Temporal and says what to do. */

const onLinux = process.platform === 'linux' ? it : it.skip;

onLinux('its database is damaged: it ends with one line that names the file and what to type', async () => {
  const cwd = await newFolder();
  const up = startProcess(['up'], { cwd, timeoutMs: 60_000 });
  await up.until(/Ctrl-C stops everything/);
  const database = path.join(cwd, '.fileconv/temporal.db');
  // The write-ahead log would repair the file.
  await rm(`${database}-wal`);
  await writeFile(database, 'no database');
  process.kill(childrenOf(up.child.pid ?? 0).get('temporal') ?? 0, 'SIGKILL');
  const { code, stderr } = await up.ended;
  expect(code).toBe(1);
  const says = `error: Temporal can't use its database ${database} (file is not a database). Put a backup in its place; or begin without the jobs that it holds: mkdir -p '${cwd}/.fileconv/damaged' && mv '${database}'* '${cwd}/.fileconv/damaged'`;
  expect(linesOf(stderr).at(-1)).toBe(says);

  expect(linesOf((await startProcess(['up'], { cwd }).ended).stderr)).toEqual([says]);
});
