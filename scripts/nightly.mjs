// npm run test:nightly: what needs minutes of building, or chance: tests that are called nightly, random kills, fleets, fuzzing, and
// installs on every Node. All of it runs, whatever fails; what failed is named in the end.
import { spawnSync } from 'node:child_process';

const parts = [
  ['npx', 'jest', '--testPathIgnorePatterns=none', '--testPathPatterns=nightly.test'],
  ['npm', 'run', 'chaos'],
  ['npm', 'run', 'chaos', '--', '--items', '120', '--kills', '6', '--acts', '6', '--rivals'],
  ['npm', 'run', 'chaos', '--', '--stopped'],
  ['npm', 'run', 'fleet', '--', '--items', '60', '--kills', '4'],
  ['npm', 'run', 'fuzz'],
  ['npm', 'run', 'check:installs'],
  ['npm', 'run', 'check:sdks'],
].map((words) => words.join(' '));

const failed = parts.filter((command) => {
  console.log(`=== ${command}`);
  return spawnSync(command, { shell: true, stdio: 'inherit' }).status !== 0;
});
console.log(failed.length === 0 ? `All ${parts.length} parts passed.` : `Failed: ${failed.join('; ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
