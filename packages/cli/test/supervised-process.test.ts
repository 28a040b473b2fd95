import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { superviseProcess } from '../src/stack/supervise';
import { newFolder, removeFolders } from './fileconv';
import { isAlive } from './processes';

afterAll(removeFolders);

it.each([
  ['ends when it is asked to is left the time for it', 'console.log("ended"); process.exit();', 60_000, 'ended\n'],
  ['does not end in its time is killed', 'console.log("not yet");', 200, 'not yet\n'],
])('a part that %s', async (_what, onTerm, stopTimeoutMs, said) => {
  const folder = await newFolder();
  const program = path.join(folder, 'part.cjs');
  const logFile = path.join(folder, 'part.log');
  await writeFile(
    program,
    `process.once("SIGTERM", () => { ${onTerm} });\nsetInterval(() => {}, 1000);\nprocess.send("ready");\n`,
  );
  const onRestart = () => undefined;
  const part = await superviseProcess({
    name: 'part',
    args: [program],
    cwd: folder,
    env: {},
    logFile,
    onRestart,
    stopTimeoutMs,
  });
  await part.stop();
  expect(isAlive(part.pid ?? 0)).toBe(false);
  expect(await readFile(logFile, 'utf8')).toBe(said);
});

/** A part that ends as `ending` says when it is started for the first time, and is ready the second time. */
async function startUnlucky(ending: string, more: { isPatient?: boolean } = {}) {
  const folder = await newFolder();
  const program = path.join(folder, 'part.cjs');
  await writeFile(
    program,
    `const { existsSync, writeFileSync } = require('node:fs');
    if (existsSync('${folder}/second')) process.send('ready'), setInterval(() => {}, 1000);
    else { writeFileSync('${folder}/second', ''); ${ending} }`,
  );
  const restarts: string[] = [];
  const onRestart = (message: string) => void restarts.push(message);
  const logFile = path.join(folder, 'part.log');
  const part = await superviseProcess({
    name: 'part',
    args: [program],
    cwd: folder,
    env: {},
    logFile,
    onRestart,
    ...more,
  });
  await part.stop();
  return restarts;
}

it('a part that is killed while it starts is started again', async () => {
  const restarts = await startUnlucky('process.kill(process.pid, "SIGKILL");');
  expect(restarts).toEqual([expect.stringMatching(/^The part ended unasked; it is started again/)]);
});

it('a part that ends by itself while it starts keeps the stack from starting, unless what it needs may be starting too', async () => {
  const ending = 'console.error("error: nobody answers"); process.exit(1);';
  await expect(startUnlucky(ending)).rejects.toThrow(/^The part ended while it started: nobody answers/);
  expect(await startUnlucky(ending, { isPatient: true })).toHaveLength(1);
  await expect(startUnlucky(ending.replace('exit(1)', 'exit(2)'), { isPatient: true })).rejects.toThrow(/ended while/);
});
