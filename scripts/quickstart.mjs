// npm run quickstart [-- --keep-open]: builds what has changed, then converts the files of examples/ as a user would.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build } from './build.mjs';

const root = path.resolve(import.meta.dirname, '..');
const unknown = process.argv.slice(2).filter((argument) => argument !== '--keep-open');
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(' ')}. Usage: npm run quickstart [-- --keep-open]`);
  process.exit(2);
}

await build({ check: false });

const name = `quickstart-${new Date().toISOString().slice(0, 19).replaceAll(/\D/g, '')}`;
const options = ['--out', 'converted', '--name', name, '--on-existing', 'overwrite'];
process.exitCode = fileconv('batch', 'run', '--manifest', 'examples/manifest.csv', ...options);
if (process.exitCode === 0 && process.argv.includes('--keep-open')) process.exitCode = fileconv('up');

/** Shows the command line as one would type it, and answers its exit code. */
function fileconv(...args) {
  console.error(`$ npx fileconv ${args.join(' ')}`);
  const main = path.join(root, 'packages/cli/bin/fileconv.js');
  const { status } = spawnSync(process.execPath, [main, ...args], { cwd: root, stdio: 'inherit' });
  return status ?? 1;
}
