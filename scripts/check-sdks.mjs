// npm run check:sdks: builds this package and runs its plugin's tests on the lowest and on the newest SDK of its declared range, each
// in a copy of its own. Needs the registry.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const { peerDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const lowest = peerDependencies['@temporalio/worker'].replace('^', '');
const newest = JSON.parse(execFileSync('npm', ['view', '@temporalio/worker', 'version', '--json'], { cwd: root }));
const tests = [
  'test/plugin',
  'test/workflows/conversion-job.test',
  'test/workflows/after-acceptance',
  'test/workflows/credits.test',
];
tests.push(
  'test/workflows/conversion-batch.test',
  'test/workflows/updates',
  'test/nexus/conversion-service',
  'test/encryption',
);

const failed = [...new Set([lowest, newest])].filter((version) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fileconv-sdk-'));
  try {
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
    for (const file of files) cpSync(path.join(root, file), path.join(folder, file));
    const installed = readdirSync(path.join(root, 'node_modules/@temporalio'));
    const packages = installed.map((name) => `@temporalio/${name}@${version}`);
    console.log(`=== SDK ${version}`);
    const steps = [
      ['npm', 'ci', '--no-audit', '--no-fund'],
      ['npm', 'install', '--no-save', '--legacy-peer-deps', '--no-audit', '--no-fund', ...packages],
      ['node', '-e', "import('./scripts/build.mjs').then(({ build }) => build({ check: false }))"],
      ['npx', 'jest', ...tests],
    ];
    return steps.some(([program, ...args]) => {
      // npm gives the command line, which asks for the newest, copies of its own: one process takes no two.
      for (const name of readdirSync(path.join(folder, 'packages'))) {
        rmSync(path.join(folder, 'packages', name, 'node_modules/@temporalio'), { recursive: true, force: true });
      }
      return spawnSync(program, args, { cwd: folder, stdio: 'inherit' }).status !== 0;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
console.log(failed.length === 0 ? `the plugin runs on ${lowest} and ${newest}` : `failed on SDK ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
