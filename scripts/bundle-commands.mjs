// Joins what commands load into one file, dist/cli/bundle.js, and has V8 compile it ahead: see docs/decisions/0009-commands-in-one-file.md.
import { build } from 'esbuild';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

const require = createRequire(import.meta.url);

/** Loaded from where they are installed: native code, what looks for files beside itself, and what only servers use. */
const packages = [
  '@temporalio/worker',
  '@temporalio/interceptors-opentelemetry',
  '@opentelemetry/*',
  'fastify',
  '@fastify/*',
  'libsql',
  'pino',
  'prom-client',
];

/** Of ours, for the same reasons. */
const modules = ['worker.js', 'encryption/failure-converter.js', 'tracing/start-tracing.js'];

/** @param {string} dist the folder that tsc has filled */
export async function bundleCommands(dist) {
  const { outputFiles } = await build({
    entryPoints: [path.join(dist, 'cli/program.js')],
    write: false,
    outfile: path.join(dist, 'cli/bundle.js'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    external: [...packages, ...modules.map((file) => path.join(dist, file))],
    minifyWhitespace: true,
    // Compiled ahead, a script can't import; it can require.
    supported: { 'dynamic-import': false },
    banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
    footer: { js: '})' },
    logLevel: 'warning',
  });
  writeFileSync(path.join(dist, 'cli/bundle.js'), inAscii(outputFiles[0].text));
  const { openCommandBundle } = require(path.join(dist, 'cli/command-bundle.js'));
  const { program, saveCompiled } = openCommandBundle();
  await runCommand(program);
  saveCompiled();
}

/** Read as Latin-1, which takes a tenth of the time of UTF-8. esbuild leaves other letters in regular expressions and in templates with a tag. */
function inAscii(code) {
  return code.replace(/[\x80-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** V8 keeps what has run: a command that loads most of what there is and needs no stack. */
async function runCommand({ runCommandLine }) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'fileconv-build-'));
  const nowhere = { isTTY: false, write: () => true };
  try {
    await runCommandLine(['batch', 'run', 'missing.md', '--to', 'pdf', '--out', 'out'], {
      env: {},
      cwd,
      homeDir: cwd,
      stdout: nowhere,
      stderr: nowhere,
    });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
