// Compiles each package's src to its dist, writes the description of the service's API, and bundles the workflows, so that a worker
// starts without webpack.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const packages = ['packages/conformance', 'packages/service', 'packages/cli'];

if (process.argv[1] === import.meta.filename) await build();

/** `check: false` emits the same code without checking its types, which takes a third less time. */
export async function build({ check = true } = {}) {
  for (const each of ['.', ...packages]) rmSync(path.join(root, each, 'dist'), { recursive: true, force: true });
  const compiler = require.resolve('typescript/bin/tsc');
  const options = ['-b', path.join(root, 'packages/cli'), ...(check ? [] : ['--noCheck'])];
  execFileSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });

  const service = path.join(root, 'packages/service/dist');
  const { describeService } = require(path.join(service, 'http/openapi.js'));
  writeFileSync(path.join(service, 'openapi.json'), JSON.stringify(describeService()));

  const { bundleWorkflowCode } = require('@temporalio/worker');
  const workflowsPath = path.join(root, 'dist/workflows/index.js');
  const failureConverterPath = path.join(root, 'dist/encryption/failure-converter.js');
  for (const [file, converters] of [
    ['workflow-bundle.js', {}],
    // The failures of a workflow are encoded in its sandbox.
    ['workflow-bundle-encoded-failures.js', { failureConverterPath }],
  ]) {
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      preloadModules: [workflowsPath],
      ...converters,
      webpackConfigHook: withLinesOnly,
      logger: quietLogger(),
    });
    writeFileSync(path.join(root, 'dist', file), code);
  }
  // Written last: who finds it finds a whole build.
  const { version } = require('@temporalio/worker/package.json');
  writeFileSync(path.join(root, 'dist/workflow-bundle.json'), `${JSON.stringify({ sdkVersion: version })}\n`);
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
