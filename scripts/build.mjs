// Compiles src to dist, then bundles the workflows once, so that a worker starts without webpack.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);

rmSync(path.join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [require.resolve('typescript/bin/tsc'), '-p', path.join(root, 'tsconfig.json')], {
  stdio: 'inherit',
});

const workflowsPath = path.join(root, 'dist/workflows/index.js');
if (existsSync(workflowsPath)) {
  const { bundleWorkflowCode } = require('@temporalio/worker');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: quietLogger() });
  writeFileSync(path.join(root, 'dist/workflow-bundle.js'), code);
  const { version } = require('@temporalio/worker/package.json');
  writeFileSync(path.join(root, 'dist/workflow-bundle.json'), `${JSON.stringify({ sdkVersion: version })}\n`);
}

const bin = path.join(root, 'dist/cli/main.js');
if (existsSync(bin)) chmodSync(bin, 0o755);

/** Webpack's chatter is of use only when it fails. */
function quietLogger() {
  const ignore = () => undefined;
  return { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: console.warn, error: console.error };
}
