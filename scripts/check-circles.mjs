// Fails when files of a package, or folders, import each other in a circle, types included; `npm run lint` runs it.
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

/** By file or folder: its siblings that it imports, or files in them. */
const imports = new Map();
for (const file of files) {
  for (const target of importsOf(file)) {
    const [from, to] = siblingsOf(file, target);
    imports.set(from, (imports.get(from) ?? new Set()).add(to));
  }
}

/** The files, or the folders around them, that lie in the same folder. */
function siblingsOf(one, other) {
  const [steps, others] = [one.split(path.sep), other.split(path.sep)];
  const at = steps.findIndex((step, index) => step !== others[index]);
  return [steps, others].map((each) => each.slice(0, at + 1).join(path.sep));
}

const state = new Map();
const circles = [];

function visit(place, trail) {
  if (state.get(place) === 'done') return;
  if (state.get(place) === 'open') {
    circles.push([...trail.slice(trail.indexOf(place)), place]);
    return;
  }
  state.set(place, 'open');
  for (const target of imports.get(place) ?? []) visit(target, [...trail, place]);
  state.set(place, 'done');
}

for (const place of imports.keys()) visit(place, []);
for (const circle of circles) console.error(circle.map((place) => path.relative(root, place)).join(' -> '));
if (circles.length > 0) {
  console.error(`${circles.length} circles of imports: move what both need into a place that imports neither.`);
  process.exitCode = 1;
}
