// Fails when files of a package import each other in a circle, types included; `npm run lint` runs it.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '..');
const folders = ['src', 'packages/conformance/src', 'packages/service/src', 'packages/cli/src'];
const files = folders.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(root, folder, name)),
);
const known = new Set(files);

/** What a file imports, types and what is loaded later included. */
function importsOf(file) {
  return ts
    .preProcessFile(readFileSync(file, 'utf8'))
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => path.resolve(path.dirname(file), fileName.replace(/\.js$/, '')))
    .map((target) => [`${target}.ts`, path.join(target, 'index.ts')].find((each) => known.has(each)))
    .filter((target) => target !== undefined);
}

const state = new Map();
const circles = [];

function visit(file, trail) {
  if (state.get(file) === 'done') return;
  if (state.get(file) === 'open') {
    circles.push([...trail.slice(trail.indexOf(file)), file]);
    return;
  }
  state.set(file, 'open');
  for (const target of importsOf(file)) visit(target, [...trail, file]);
  state.set(file, 'done');
}

for (const file of files) visit(file, []);
for (const circle of circles) console.error(circle.map((file) => path.relative(root, file)).join(' -> '));
if (circles.length > 0) {
  console.error(`${circles.length} circles of imports: move what both need into a file that imports neither.`);
  process.exitCode = 1;
}
