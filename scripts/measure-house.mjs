// node scripts/measure-house.mjs: what a user installs with the plugin, and how large the code is. Needs a build and the registry. The last
// line is one JSON object.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packAll } from './pack.mjs';

const root = path.resolve(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'fileconv-house-'));
try {
  const { plugin } = packAll(folder);
  const worker = install(['activity', 'client', 'common', 'worker', 'workflow'], plugin, 'worker');
  const client = install(['client'], plugin, 'client');
  console.log(
    JSON.stringify({ ...countSources(), readmeBytes: sizeOf('README.md'), circles: circles(), worker, client }),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** What the plugin adds to a project with these packages of Temporal; and whether it loads there as CommonJS and as an ES module. */
function install(temporal, tarball, name) {
  const cwd = path.join(folder, name);
  const newest = Object.fromEntries(temporal.map((each) => [`@temporalio/${each}`, 'latest']));
  const before = installedIn(`${cwd}-before`, newest);
  const after = installedIn(cwd, { ...newest, 'temporal-file-conversion': `file:${tarball}` });
  const added = [...after].filter(([place]) => !before.has(place) && !place.includes('@temporalio/'));
  const entry = name === 'client' ? 'temporal-file-conversion/client' : 'temporal-file-conversion';
  const load = (code, ...options) => execFileSync(process.execPath, [...options, '-e', code], { cwd, stdio: 'pipe' });
  load(`require('${entry}')`);
  load(`import '${entry}'`, '--input-type=module');
  const bytes = added.reduce((sum, [place]) => sum + bytesIn(path.join(cwd, place)), 0);
  const licences = [...new Set(added.map(([, { license }]) => license))];
  const needsWorker = after.has('node_modules/@temporalio/worker');
  return { packages: added.length, mebibytes: Math.round((bytes / 1024 / 1024) * 10) / 10, licences, needsWorker };
}

function installedIn(cwd, dependencies) {
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, 'package.json'), JSON.stringify({ private: true, dependencies }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd, stdio: 'pipe' });
  const { packages } = JSON.parse(readFileSync(path.join(cwd, 'package-lock.json'), 'utf8'));
  return new Map(Object.entries(packages).filter(([place]) => place !== ''));
}

function bytesIn(place) {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(place.length).includes('node_modules'))
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

function countSources() {
  const folders = ['src', 'packages/conformance/src', 'packages/service/src', 'packages/cli/src'];
  const files = folders.flatMap((each) =>
    readdirSync(path.join(root, each), { recursive: true })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.join(root, each, file)),
  );
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const lines = texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
  const exported = /^export (?:async )?(?:function\*?|class|const|interface|type|enum) +(\w+)/gm;
  const names = texts.flatMap((text) => [...new Set(Array.from(text.matchAll(exported), ([, name]) => name))]);
  const twins = names.filter((name, index) => names.indexOf(name) < index);
  return { files: files.length, lines, twins };
}

function sizeOf(file) {
  return statSync(path.join(root, file)).size;
}

function circles() {
  try {
    execFileSync(process.execPath, [path.join(root, 'scripts/check-circles.mjs')], { stdio: 'pipe' });
    return 0;
  } catch (error) {
    return Number(/(\d+) circles/.exec(error.stderr.toString())?.[1]);
  }
}
