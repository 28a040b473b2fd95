#!/usr/bin/env node
import { homedir } from 'node:os';
import { explainStdout } from './command-error';
import { keepCompiledCode } from './compile-cache';
import { defaultCacheDir } from './dev-server/cache-dir';

// Users of this version need no news about the Node versions of future SDKs.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

// A reader that stops early (`fileconv formats | head -1`) is no error, and jobs in flight continue. Nor is a closed terminal: the
// parts that run must still be stopped in order.
let unwritten: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  const isGone = error.code === 'EPIPE' || (error.code === 'EIO' && process.stdout.isTTY);
  if (!isGone) unwritten ??= error;
});
// Nobody is left to report to, and a full disk for the log must not end a stack.
process.stderr.on('error', () => undefined);
process.on('exit', (exitCode) => {
  if (!unwritten || exitCode !== 0) return;
  process.exitCode = 1;
  process.stderr.write(`error: ${explainStdout(unwritten, 'Write the output somewhere else.').message}\n`);
});

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
  // Exits once all output is flushed: leftovers of Temporal's SDK after a failed worker start would keep the process alive.
  process.stdout.write('', () => process.stderr.write('', () => setImmediate(() => process.exit())));
});

async function run(argv: readonly string[]): Promise<number> {
  const cwd = folderOf(() => process.cwd());
  const homeDir = folderOf(homedir);
  if (cwd === undefined || homeDir === undefined) {
    const what =
      cwd === undefined
        ? 'The current folder is gone. Change to another one.'
        : 'This user has no home folder. Set HOME to a folder that it may write to.';
    process.stderr.write(`error: ${what}\n`);
    return 1;
  }
  keepCompiledCode(defaultCacheDir(process.env, homeDir));
  const { runCommandLine } = await import('./program.js');
  return runCommandLine(argv, {
    env: process.env,
    cwd,
    homeDir,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    process,
  });
}

/** Undefined if the system has none: the folder was removed, or a container does not know the user. */
function folderOf(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
