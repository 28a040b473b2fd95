#!/usr/bin/env node
import nodeModule from 'node:module';
import { homedir } from 'node:os';
import { explainStdout } from './command-error';

// From Node 22.1 on: a command loads some 460 modules, and compiling them is a third of its start.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

// Which Node the next versions of its SDK need is no news for who uses this one.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

// A reader that has seen enough (`fileconv formats | head -1`) is no error, and jobs under way continue. Nor is a closed terminal: what
// runs must still be stopped in order.
let unwritten: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  const isGone = error.code === 'EPIPE' || (error.code === 'EIO' && process.stdout.isTTY);
  if (!isGone) unwritten ??= error;
});
// There is nobody left to tell, and a stack does not end because the disk of its log is full.
process.stderr.on('error', () => undefined);
process.on('exit', (exitCode) => {
  if (!unwritten || exitCode !== 0) return;
  process.exitCode = 1;
  process.stderr.write(`error: ${explainStdout(unwritten, 'Or write elsewhere.').message}\n`);
});

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
  // Once all is written, or told not to be: what Temporal's SDK leaves behind when a worker can't start would keep the process alive.
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

/** Undefined where the system has none: the folder was removed, or the user of a container is unknown there. */
function folderOf(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
