// npm run engine-matrix: writes the table of docs/service/engines.md that tells what the programs of the machine add to what comes with
// npm. It needs a build. With --check it writes nothing, and fails when the table is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const file = path.join(root, 'docs/service/engines.md');
const [begin, end] = ['<!-- By `npm run engine-matrix`. -->', '<!-- End of what it writes. -->'];
const require = createRequire(import.meta.url);
const { FormatCatalog } = require('../packages/service/dist/engines/formats.js');
const { engineNamesOfNpm } = require('../packages/service/dist/engines/engine.js');

const isHere = () => true;
const before = byInput(new FormatCatalog({ engines: engineNamesOfNpm, isHere }));
const after = byInput(new FormatCatalog({ isHere }));
const rows = [...after].map(([input, outputs]) => [input, before.get(input) ?? new Map(), outputs]).filter(differs);
const size = (all) => [...all.values()].reduce((sum, outputs) => sum + outputs.size, 0);
const table = [
  `${size(before)} pairs of formats convert without any program of the machine, ${size(after)} with all of them:`,
  '',
  '| From | To, without | To, with all | What programs do |',
  '|---|---:|---:|---|',
  ...rows.sort(([one], [other]) => one.localeCompare(other, 'en')).map(describe),
];
const page = readFileSync(file, 'utf8');
const wanted = `${page.slice(0, page.indexOf(begin))}${begin}\n\n${table.join('\n')}\n\n${page.slice(page.indexOf(end))}`;
if (!process.argv.includes('--check')) writeFileSync(file, wanted);
else if (wanted !== page) {
  console.error('The table of docs/service/engines.md is not as the engines are; run: npm run engine-matrix');
  process.exitCode = 1;
}

/** Outputs of each input, each with its engine. */
function byInput(catalog) {
  const inputs = new Map();
  for (const [pair, engine] of catalog.pairs()) {
    const [input, output] = pair.split(' ');
    inputs.set(input, (inputs.get(input) ?? new Map()).set(output, engine));
  }
  return inputs;
}

function differs([, without, all]) {
  return [...all].some(([output, engine]) => without.get(output) !== engine);
}

function describe([input, without, all]) {
  const byEngine = new Map();
  for (const [output, engine] of all) {
    if (without.get(output) === engine) continue;
    byEngine.set(engine, [...(byEngine.get(engine) ?? []), output]);
  }
  const done = [...byEngine].map(([engine, outputs]) => `${engine}: ${outputs.sort().join(', ')}`);
  return `| ${input} | ${without.size} | ${all.size} | ${done.join('; ')} |`;
}
