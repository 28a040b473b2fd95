// Compiles each package's src to its dist, writes the description of the service's API, and bundles the workflows, so that a worker
// starts without webpack. What has not changed since the last build is left as it is.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const packages = ['.', 'packages/conformance', 'packages/service', 'packages/cli'];
const recordFile = path.join(root, 'dist/workflow-bundle.json');

if (process.argv[1] === import.meta.filename) await build();

/** `check: false` emits the same code without checking its types, which takes a third less time. */
export async function build({ check = true } = {}) {
  const before = existsSync(recordFile) ? JSON.parse(readFileSync(recordFile, 'utf8')) : {};
  // Written last: who finds it finds a whole build.
  rmSync(recordFile, { force: true });
  const tools = hashOf(['package-lock.json', 'scripts/build.mjs', 'tsconfig.base.json']);
  for (const each of packages) {
    if (before.tools !== tools) rmSync(path.join(root, each, 'dist'), { recursive: true, force: true });
    else removeOrphans(path.join(root, each));
  }
  const compiler = require.resolve('typescript/bin/tsc');
  const options = ['-b', path.join(root, 'packages/cli'), ...(check ? [] : ['--noCheck'])];
  execFileSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });

  const workflows = hashOf(
    compiledIn('dist/workflows', 'dist/job', 'dist/batch/model', 'dist/messages', 'dist/encryption'),
  );
  if (before.tools !== tools || before.workflows !== workflows) await bundleWorkflows();
  const { version: sdkVersion } = require('@temporalio/worker/package.json');
  writeFileSync(recordFile, `${JSON.stringify({ sdkVersion, tools, workflows })}\n`);
}

/** Of source files that are no more. */
function removeOrphans(folder) {
  if (!existsSync(path.join(folder, 'dist'))) return;
  for (const entry of readdirSync(path.join(folder, 'dist'), { recursive: true })) {
    const [, module] = /^(.*?)(?:\.d\.ts|\.js)$/.exec(entry) ?? [];
    if (module === undefined || module.startsWith('workflow-bundle')) continue;
    if (!existsSync(path.join(folder, 'src', `${module}.ts`))) rmSync(path.join(folder, 'dist', entry));
  }
}

function compiledIn(...folders) {
  return folders.flatMap((folder) => {
    const entries = readdirSync(path.join(root, folder), { recursive: true });
    return entries.filter((entry) => entry.endsWith('.js')).map((entry) => path.join(folder, entry));
  });
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) hash.update(`${file}\n`).update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

async function bundleWorkflows() {
  const { bundleWorkflowCode } = require('@temporalio/worker');
  const workflowsPath = path.join(root, 'dist/workflows/index.js');
  const failureConverterPath = path.join(root, 'dist/encryption/failure-converter.js');
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    preloadModules: [workflowsPath],
    failureConverterPath,
    webpackConfigHook: withLinesOnly,
    logger: quietLogger(),
  });
  writeFileSync(path.join(root, 'dist/workflow-bundle.js'), code);
}

/** The SDK insists on a source map in the bundle: lines and names of our files are enough for the stack of a failure, and sources would triple its size. */
function withLinesOnly(config) {
  return {
    ...config,
    devtool: 'inline-nosources-cheap-module-source-map',
    output: { ...config.output, devtoolModuleFilenameTemplate: '[resource-path]' },
  };
}

/** Webpack's chatter is of use only when it fails. */
function quietLogger() {
  const ignore = () => undefined;
  return { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: console.warn, error: console.error };
}
