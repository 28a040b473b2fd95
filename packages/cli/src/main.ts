#!/usr/bin/env node
import nodeModule from 'node:module';
import { homedir } from 'node:os';

// From Node 22.1 on: a command loads some 460 modules, and compiling them is a third of its start.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

// A reader that has seen enough (`fileconv formats | head -1`) is no error, and jobs under way go on. Nor is a closed terminal: what
// runs must still be stopped in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    const isGone = error.code === 'EPIPE' || (error.code === 'EIO' && stream.isTTY);
    if (!isGone) throw error;
  });
}

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
  // The channel to a supervising process would keep this one alive.
  if (process.connected) process.disconnect();
});

async function run(argv: readonly string[]): Promise<number> {
  const { runCommandLine } = await import('./program.js');
  return runCommandLine(argv, {
    env: process.env,
    cwd: process.cwd(),
    homeDir: homedir(),
    stdout: process.stdout,
    stderr: process.stderr,
  });
}
