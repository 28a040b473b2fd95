// Installs the tarball into empty projects as its users do, and tries it there: npm run check:installs -- [--quick] [--node 20.18.1,26]
// Beside the newest @temporalio/*, with npm and pnpm, whatever OpenTelemetry is there; engines are strict. Needs a build and the registry.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { outsideNpm, packAll } from './pack.mjs';

const run = promisify(execFile);
const packageName = 'temporal-file-conversion';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, node: { type: 'string' } },
});
const nodeVersions = flags.node?.split(',') ?? (flags.quick ? ['20.18.1', '26'] : ['20.18.1', '22', '24', '26']);

/** What stands beside the package; OpenTelemetry 3 needs Node 22.15. */
const neighbours = {
  nothing: {},
  '@aws-sdk/client-s3': { '@aws-sdk/client-s3': '^3.900.0' },
  '@opentelemetry/api 1.10': { '@opentelemetry/api': '^1.10.0' },
  'OpenTelemetry SDK 2': {
    '@opentelemetry/api': '~1.9.1',
    '@opentelemetry/resources': '^2.2.0',
    '@opentelemetry/sdk-trace-base': '^2.2.0',
    '@opentelemetry/sdk-trace-node': '^2.2.0',
    '@opentelemetry/exporter-trace-otlp-http': '^0.223.0',
  },
  'OpenTelemetry SDK 3': { '@opentelemetry/api': '^1.10.0', '@opentelemetry/sdk-node': 'latest' },
};
const temporal = ['activity', 'client', 'common', 'worker', 'workflow'];

const smoke = `
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { FileConversionPlugin } from '${packageName}';
import { bundleWorkflowCode } from '@temporalio/worker';

const require = createRequire(import.meta.url);
const { exports } = require('${packageName}/package.json');
const lacks = (name) => {
  try {
    return !require.resolve(name);
  } catch {
    return true;
  }
};
for (const subpath of Object.keys(exports).filter((each) => !each.includes('*'))) {
  if (subpath === './s3' && lacks('@aws-sdk/client-s3')) continue;
  const entry = '${packageName}' + subpath.slice(1);
  const names = Object.keys(require(entry));
  assert.ok(names.length > 0, entry);
  if (!subpath.endsWith('.json')) await import(entry);
}
const complaints = [];
const ignore = () => undefined;
const complain = (message) => complaints.push(message);
const { code } = await bundleWorkflowCode({
  workflowsPath: require.resolve('./workflows.cjs'),
  plugins: [new FileConversionPlugin({ apps: {} })],
  logger: { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: complain, error: complain },
});
assert.match(code, /conversionJob/);
assert.deepEqual(complaints, []);
`;

const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-installs-'));
let failed = 0;
try {
  const tarballs = packAll(folder);
  const pnpm = await installTool('pnpm@latest', 'pnpm/bin/pnpm.mjs');
  for (const version of nodeVersions) await checkNode(version, { tarballs, pnpm });
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? 'every install works' : `${failed} installs failed`);
process.exit(failed === 0 ? 0 : 1);

/** Of a package that the registry brings: the path of one of its programs. */
async function installTool(spec, program) {
  const cwd = path.join(folder, `tool-${spec.replaceAll(/\W/g, '-')}`);
  await mkdir(cwd);
  await writeFile(path.join(cwd, 'package.json'), '{"private":true}');
  await npm(['install', '--no-audit', '--no-fund', spec], { cwd });
  return path.join(cwd, 'node_modules', program);
}

async function checkNode(version, { tarballs, pnpm }) {
  const node = await installTool(`node@${version}`, '.bin/node');
  const env = { ...outsideNpm(), PATH: `${path.dirname(node)}:${process.env.PATH}` };
  const { stdout } = await run(node, ['--version']);
  const [major, minor] = stdout.slice(1).split('.').map(Number);
  const managers = {
    npm: (cwd) => run('npm', ['install', '--engine-strict', '--no-audit', '--no-fund'], { cwd, env }),
    pnpm: (cwd) => installWithPnpm(cwd, { node, pnpm, env }),
  };
  for (const [beside, dependencies] of Object.entries(neighbours)) {
    if (beside.endsWith('SDK 3') && (major < 22 || (major === 22 && minor < 15))) continue;
    for (const [manager, install] of Object.entries(managers)) {
      // One of the old ranges refused the newest API, the other the newest SDK.
      if (
        flags.quick &&
        `${manager} ${beside}` !== 'npm @opentelemetry/api 1.10' &&
        `${manager} ${beside}` !== 'pnpm OpenTelemetry SDK 2'
      )
        continue;
      await checkInstall(`Node ${stdout.trim()}, ${manager}, beside ${beside}`, async (cwd) => {
        await createProject(cwd, { [packageName]: `file:${tarballs.plugin}`, ...dependencies });
        const said = await install(cwd);
        const smoked = await run(node, ['smoke.mjs'], { cwd, env });
        return { said: said.stdout + said.stderr, smoked: smoked.stdout };
      });
    }
  }
  await checkInstall(`Node ${stdout.trim()}, npm, the command line alone`, async (cwd) => {
    await writeFile(path.join(cwd, 'package.json'), '{"private":true}');
    const options = ['--engine-strict', '--no-audit', '--no-fund'];
    const said = await run('npm', ['install', ...options, tarballs.cli], { cwd, env });
    await writeFile(path.join(cwd, 'note.md'), '# Note\n');
    const smoked = await run(node, [path.join('node_modules/.bin/fileconv'), 'convert', 'note.md', '--to', 'html'], {
      cwd,
      env: { ...env, FILECONV_STATE_DIR: path.join(cwd, 'state') },
    });
    return { said: said.stdout + said.stderr, smoked: smoked.stdout };
  });
}

/** Scripts of Temporal's own packages stay unrun, as pnpm does it until its user has approved them. */
async function installWithPnpm(cwd, { node, pnpm, env }) {
  await writeFile(path.join(cwd, 'pnpm-workspace.yaml'), 'strictDepBuilds: false\nengineStrict: true\n');
  const store = ['--store-dir', path.join(folder, 'pnpm-store')];
  const said = await run(node, [pnpm, 'install', '--reporter=append-only', ...store], { cwd, env });
  // Tells of everybody's peers, and fails for anybody's.
  const peers = await run(node, [pnpm, 'peers', 'check'], { cwd, env }).catch((error) => error);
  return { stdout: said.stdout + peers.stdout.replaceAll(/^/gm, 'peer: '), stderr: said.stderr };
}

async function createProject(cwd, dependencies) {
  const newest = Object.fromEntries(temporal.map((name) => [`@temporalio/${name}`, 'latest']));
  const manifest = { private: true, dependencies: { ...newest, ...dependencies } };
  await writeFile(path.join(cwd, 'package.json'), JSON.stringify(manifest));
  await writeFile(path.join(cwd, 'smoke.mjs'), smoke);
  await writeFile(path.join(cwd, 'workflows.cjs'), `module.exports = require('${packageName}/workflows');\n`);
}

async function checkInstall(what, check) {
  const cwd = path.join(folder, 'project');
  await mkdir(cwd);
  const began = Date.now();
  try {
    const { said, smoked } = await check(cwd);
    const complaints = said.split('\n').filter(isComplaint);
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    console.log(`ok      ${what}, ${Math.round((Date.now() - began) / 1_000)} s`);
    if (smoked !== '') console.log(smoked.trimEnd());
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}\n${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** About an engine whoever wants it; about a peer when it is ours. */
function isComplaint(line) {
  return /EBADENGINE|Unsupported engine|ERESOLVE/.test(line) || (/peer/i.test(line) && line.includes(packageName));
}

function npm(args, options) {
  return run('npm', args, { ...options, env: outsideNpm() });
}
