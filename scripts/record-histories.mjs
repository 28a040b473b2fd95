// npm run record-histories [-- NAME...]: runs every kind of path of the workflows on a Temporal server, an embedded conversion service and a
// worker of its own, and writes their histories to test/histories, where test/workflows/replay.test.ts replays them. With names, only those
// are recorded. See docs/operations/upgrade.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { batchPaths } from './histories/batch-paths.mjs';
import { jobPaths } from './histories/job-paths.mjs';
import { toNeutralHistory } from './histories/neutral-history.mjs';
import { RecordingStack } from './histories/recording-stack.mjs';
import { sweepPaths } from './histories/sweep-paths.mjs';

const target = path.resolve(import.meta.dirname, '../test/histories');
const wanted = process.argv.slice(2);
const all = [...jobPaths, ...batchPaths, ...sweepPaths];
const unknown = wanted.filter((name) => !all.some((each) => each.name === name));
if (unknown.length > 0) {
  console.error(`No path is called ${unknown.join(', ')}. Known: ${all.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const paths = wanted.length === 0 ? all : all.filter(({ name }) => wanted.includes(name));

const startedAt = Date.now();
mkdirSync(target, { recursive: true });
const stack = await RecordingStack.start(paths);
// Requests tell the folder that they were made in.
process.chdir(stack.folder);
try {
  for (const each of paths) {
    // Names of the files with what they hold: `{ 'job-polled': history }`.
    for (const [name, history] of Object.entries(await record(each))) {
      const text = toNeutralHistory(history, stack.neutralNames());
      writeFileSync(path.join(target, `${name}.json`), text);
      console.log(`${name.padEnd(32)} ${history.events.length} events, ${text.length} bytes`);
    }
  }
} finally {
  await stack.close();
}
console.log(`${paths.length} paths recorded in ${Math.round((Date.now() - startedAt) / 1_000)} s`);

async function record(each) {
  try {
    return await each.record(stack, each.name);
  } catch (error) {
    throw new Error(`${each.name} could not be recorded`, { cause: error });
  }
}
