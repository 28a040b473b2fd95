// npm run pack -- FOLDER: the tarballs of the plugin, the service and the command line, each of which installs on its own: what a package
// needs of the others lies within it. Needs a build.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const folders = {
  'temporal-file-conversion': '.',
  'temporal-file-conversion-conformance': 'packages/conformance',
  'temporal-file-conversion-service': 'packages/service',
  fileconv: 'packages/cli',
};

if (process.argv[1] === import.meta.filename) {
  const [destination] = process.argv.slice(2);
  if (destination === undefined) {
    console.error('Usage: npm run pack -- FOLDER');
    process.exit(2);
  }
  mkdirSync(destination, { recursive: true });
  for (const tarball of Object.values(packAll(path.resolve(destination)))) console.log(tarball);
}

/**
 * @param {string} destination an existing folder
 * @returns the path of each package's tarball
 */
export function packAll(destination) {
  // The build writes this file last.
  if (!existsSync(path.join(root, 'dist/workflow-bundle.json'))) throw new Error('There is no build: npm run build');
  return {
    plugin: pack('temporal-file-conversion', destination),
    service: pack('temporal-file-conversion-service', destination),
    cli: pack('fileconv', destination),
  };
}

function pack(name, destination) {
  const stage = mkdtempSync(path.join(tmpdir(), 'fileconv-pack-'));
  try {
    const { manifest, needed } = read(name);
    if (needed.length === 0) copyPublished(name, stage);
    else {
      // Beside each other in a folder that npm does not look into: `bundleDependencies` would have to hold everything that they need.
      copyPublished(name, path.join(stage, 'lib'));
      // Node reads exports in the package's own manifest only.
      const withoutExports = JSON.stringify({ ...manifest, exports: undefined }, undefined, 2);
      writeFileSync(path.join(stage, 'lib/package.json'), `${withoutExports}\n`);
      for (const each of needed)
        copyPublished(each, path.join(stage, 'lib/node_modules', each), ['LICENSE', 'package.json', 'dist']);
      for (const file of ['README.md', 'LICENSE', ...dataFiles(manifest)])
        renameSync(path.join(stage, 'lib', file), path.join(stage, file));
    }
    writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(withinLib(manifest, needed), undefined, 2)}\n`);
    const options = ['--ignore-scripts', '--json', '--pack-destination', destination];
    const answer = execFileSync('npm', ['pack', ...options], { cwd: stage, env: outsideNpm(), stdio: 'pipe' });
    return path.join(destination, JSON.parse(answer)[0].filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** A package without what only its repository needs, and the names of ours that it needs, those that they need included. */
function read(name) {
  const text = readFileSync(path.join(root, folders[name], 'package.json'), 'utf8');
  const kept = Object.entries(JSON.parse(text)).filter(
    ([key]) => !['scripts', 'devDependencies', 'workspaces'].includes(key),
  );
  const manifest = Object.fromEntries(kept);
  return { manifest, needed: Object.keys(manifest.dependencies).filter((each) => each in folders) };
}

function copyPublished(name, target, wanted) {
  const { manifest } = read(name);
  mkdirSync(target, { recursive: true });
  const left = manifest.files.filter((file) => file.startsWith('!')).map((file) => file.slice(1));
  for (const file of wanted ?? ['README.md', 'LICENSE', 'package.json', ...manifest.files]) {
    const source = [folders[name], '.'].map((folder) => path.join(root, folder, file)).find((each) => existsSync(each));
    if (source) cpSync(source, path.join(target, file), { recursive: true });
  }
  for (const file of left) rmSync(path.join(target, file), { force: true });
}

/** What stands in `lib`, as its own package and as what installs it sees it. */
function withinLib(manifest, needed) {
  if (needed.length === 0) return manifest;
  const all = [manifest, ...needed.map((each) => read(each).manifest)];
  const merged = (field) => {
    const entries = all.flatMap((each) => Object.entries(each[field] ?? {}));
    const others = entries.filter(([name]) => !(name in folders)).sort(([a], [b]) => (a < b ? -1 : 1));
    return others.length > 0 && { [field]: Object.fromEntries(others) };
  };
  const { main, types, typesVersions, bin, exports } = JSON.parse(
    JSON.stringify(manifest).replaceAll(/"(\.\/)?(dist|bin)\//g, '"$1lib/$2/'),
  );
  return {
    ...manifest,
    ...{ main, types, typesVersions, bin, exports, files: ['lib', ...dataFiles(manifest)] },
    ...merged('dependencies'),
    ...merged('optionalDependencies'),
  };
}

/** What others read by its path in the package. */
function dataFiles({ files }) {
  return files.filter((file) => file.endsWith('.json'));
}

/** What npm sets for the script that it runs would make an npm in there work on this repository. */
export function outsideNpm() {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD');
  return Object.fromEntries(entries);
}
