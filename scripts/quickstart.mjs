// npm run quickstart [-- --keep-open]: builds what is not built, then converts the files of examples/ through the real stack.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { build } from './build.mjs';

const root = path.resolve(import.meta.dirname, '..');
const unknown = process.argv.slice(2).filter((argument) => argument !== '--keep-open');
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(' ')}. Usage: npm run quickstart [-- --keep-open]`);
  process.exit(2);
}

// What the build writes last; src is newer after a pull or an edit.
const builtAt = timeOf(path.join(root, 'dist/workflow-bundle.json'));
const sources = readdirSync(path.join(root, 'src'), { recursive: true }).map((file) => path.join(root, 'src', file));
if (Math.max(...sources.map(timeOf)) > builtAt) {
  console.error('Building ...');
  await build({ check: false });
}

const { runQuickstart } = await import('../dist/cli/quickstart.js');
process.exitCode = await runQuickstart(
  { env: process.env, cwd: root, homeDir: homedir(), stdout: process.stdout, stderr: process.stderr },
  {
    examplesDir: path.join(root, 'examples'),
    outDir: path.join(root, 'converted'),
    keepOpen: process.argv.includes('--keep-open'),
  },
);

function timeOf(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0;
}
