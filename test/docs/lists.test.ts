import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { exitCodes } from '../../packages/cli/src/command-error';
import { keysOfSection, variableOf } from '../../packages/cli/src/config/schema';
import { appSchema, accountsSchema } from '../../packages/service/src/accounts/accounts-file';
import { engineParameters } from '../../packages/service/src/engines/conversion';
import { findingCodes } from '../../src/batch/findings';
import { csvColumns } from '../../src/batch/report/csv';
import { runFileErrorCodes } from '../../src/batch/run-files';
import { clientErrorCodes } from '../../src/http/errors';
import { failureCodes } from '../../src/job/activities';
import { storageErrorCodes } from '../../src/storage/errors';
import { commandNames } from '../support/command-lines';
import { namesInFirstCells, pages, root, sectionOf, textOf } from './pages';

/** Tables of the pages, checked against the lists in the code. docs/configuration.md and the codes of the service are generated. */

const errors = 'docs/errors.md';

it('docs/errors.md explains exactly the codes of our own', () => {
  const told = ['## Codes of ours', '## Codes of batches'].flatMap((heading) =>
    namesInFirstCells(sectionOf(errors, heading)),
  );
  // "Not yet" and an aborted request never fail a job.
  const internal: string[] = [failureCodes.notFinished, 'REQUEST_ABORTED'];
  const ended = ['CANCELLED', 'TERMINATED', 'TIMED_OUT', 'HTTP_<status>'];
  const lists = [storageErrorCodes, clientErrorCodes, runFileErrorCodes, ended];
  const known = [...lists.flat(), ...Object.values(failureCodes)].filter((code) => !internal.includes(code));
  expect([...told].sort()).toEqual([...new Set(known)].sort());
});

it('docs/errors.md explains exactly the findings of a plan', () => {
  const told = namesInFirstCells(sectionOf(errors, "## Findings of a batch's plan"));
  expect([...told].sort()).toEqual([...findingCodes].sort());
});

it('docs/batches.md explains every column of the report, in order', () =>
  expect(namesInFirstCells(sectionOf('docs/batches.md', '## Reports'))).toEqual([...csvColumns]));

it('docs/convert.md and docs/batches.md list the exit codes', () => {
  const codesIn = (page: string) =>
    [...sectionOf(page, '## Exit codes').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  const { couldNotRun, readerEnded, ...others } = exitCodes;
  expect(codesIn('docs/convert.md')).toEqual([...Object.values(others), readerEnded]);
  expect(codesIn('docs/batches.md').sort()).toEqual([...Object.values(others), couldNotRun].sort());
});

it('docs/batches.md and docs/schedules.md have a row for every command', () => {
  const told = namesInFirstCells(textOf('docs/batches.md')).map((name) => name.split(' ').slice(0, 2).join(' '));
  expect(told).toEqual(expect.arrayContaining(commandNames('batch')));
  const schedules = textOf('docs/schedules.md');
  expect(commandNames('schedule').filter((name) => !schedules.includes(name))).toEqual([]);
});

it('docs/service/accounts.md explains every key of an accounts file', () => {
  const explained = namesInFirstCells(textOf('docs/service/accounts.md')).map((name) => name.replace('limits.', ''));
  const { limits, ...ofApp } = appSchema.shape;
  const ofFile = Object.keys(accountsSchema.shape).filter((key) => key !== 'apps');
  const limitKeys = Object.keys(limits.unwrap().shape);
  const withoutPrefix = [...Object.keys(ofApp), ...limitKeys, ...ofFile].map((key) => key.replace('limits.', ''));
  expect([...new Set(explained)].sort()).toEqual([...new Set(withoutPrefix)].sort());
});

it('docs/service/engines.md lists what installed programs add', () => {
  const script = path.join(root, 'scripts/engine-matrix.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

it('docs/service/engines.md explains every parameter of a conversion', () => {
  const told = namesInFirstCells(sectionOf('docs/service/engines.md', '## Parameters'));
  expect(told).toEqual(Object.keys(engineParameters.shape));
});

it('the pages name only existing alerts, variables and codes', () => {
  const text = pages.map(textOf).join('\n');
  const alerts = [...textOf('docs/operations/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
  const named = [...text.matchAll(/\b(Fileconv[A-Z]\w+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !alerts.includes(name))).toEqual([]);
  const variables = [...keysOfSection].flatMap(([section, names]) => names.map((key) => variableOf(section, key)));
  const used = [...text.matchAll(/\b(FILECONV_(?!APPS_)[A-Z_]+[A-Z])/g)].map(([, name = '']) => name);
  expect(used.filter((name) => ![...variables, 'FILECONV_CONFIG', 'FILECONV_DEFAULT_APP'].includes(name))).toEqual([]);
  const codes = [...textOf('docs/operations/incidents.md').matchAll(/with ([A-Z]+_[A-Z_]+)/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(2);
  expect(codes.filter((code) => !textOf(errors).includes(`\`${code ?? ''}\``))).toEqual([]);
});

it('docs/benchmarks.md explains every benchmark', () => {
  const programs = readdirSync(path.join(root, 'bench')).filter((name) => name.endsWith('.ts'));
  const explained = [...textOf('docs/benchmarks.md').matchAll(/^## (.+)$/gm)].map(([, name = '']) => `${name}.ts`);
  expect([...explained].sort()).toEqual([...programs].sort());
});

it('the map in docs/internals.md names every folder of the code and the tests', () => {
  const map = sectionOf('docs/internals.md', '## The map');
  const foldersIn = (folder: string) =>
    readdirSync(path.join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const inner = foldersIn('src').map(({ name }) => `src/${name}`);
  const packages = foldersIn('packages').map(({ name }) => `packages/${name}/src`);
  const areas = [...inner, ...packages].flatMap((folder) => foldersIn(folder).map(({ name }) => [folder, name]));
  expect(packages.filter((folder) => !map.includes(`${folder}/`))).toEqual([]);
  const named = [...foldersIn('src'), ...foldersIn('docs'), ...foldersIn('scripts'), ...foldersIn('examples')];
  expect(areas.length).toBeGreaterThan(15);
  const own = foldersIn('test').filter(({ name }) => !existsSync(path.join(root, 'src', name)));
  expect([...named, ...own].map(({ name }) => name).filter((name) => !map.includes(`${name}/`))).toEqual([]);
  expect(areas.filter(([, name = '']) => !map.includes(`${name}/`))).toEqual([]);
});
