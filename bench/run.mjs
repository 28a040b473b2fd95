// Runs bench/<name>.ts: strips the types of bench and src with swc into a cache folder and runs that with plain node, so that
// what is measured is the code as it stands, without a loader in the measured process. Processes of their own run what is built.
import { transformFileSync } from '@swc/core';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from '../scripts/build.mjs';

const root = path.resolve(import.meta.dirname, '..');
const out = path.join(root, 'node_modules/.cache/fileconv-bench');

const names = readdirSync(path.join(root, 'bench')).filter((name) => name.endsWith('.ts'));
const [name, ...args] = process.argv.slice(2);
if (!names.includes(`${name}.ts`)) {
  console.error(`Usage: npm run bench -- ${names.map((each) => path.parse(each).name).join('|')}`);
  process.exit(2);
}

await build({ check: false });
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
/** Where the code finds a package by its name, with its sources in place of what is built of them. */
function link(name, folder) {
  mkdirSync(path.join(out, folder), { recursive: true });
  const manifest = readFileSync(path.join(root, folder, 'package.json'), 'utf8');
  writeFileSync(path.join(out, folder, 'package.json'), manifest.replaceAll('./dist/', './src/'));
  mkdirSync(path.join(out, 'node_modules'), { recursive: true });
  symlinkSync(path.join(out, folder), path.join(out, 'node_modules', name));
}

link('temporal-file-conversion', '.');
link('temporal-file-conversion-service', 'packages/service');
// A copy, for its processes see no folder outside of this one.
cpSync(path.join(root, 'packages/service/dist'), path.join(out, 'packages/service/dist'), { recursive: true });
mkdirSync(path.join(out, 'dist'));
symlinkSync(path.join(root, 'dist/checks'), path.join(out, 'dist/checks'));
for (const folder of [
  'src',
  'packages/service/src',
  'packages/service/test',
  'packages/cli/src',
  'test/support',
  'bench',
]) {
  for (const entry of readdirSync(path.join(root, folder), { recursive: true })) {
    if (!entry.endsWith('.ts')) continue;
    const { code } = transformFileSync(path.join(root, folder, entry), {
      swcrc: false,
      module: { type: 'commonjs' },
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    });
    const target = path.join(out, folder, entry.replace(/\.ts$/, '.js'));
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, code);
  }
}

const { status } = spawnSync(process.execPath, [path.join(out, `bench/${name}.js`), ...args], { stdio: 'inherit' });
process.exit(status ?? 1);
