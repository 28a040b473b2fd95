import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { superviseProcess } from '../../src/cli/stack/supervised-process';
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
  const part = await superviseProcess({ name: 'part', args: [program], env: {}, logFile, onRestart, stopTimeoutMs });
  await part.stop();
  expect(isAlive(part.pid ?? 0)).toBe(false);
  expect(await readFile(logFile, 'utf8')).toBe(said);
});
