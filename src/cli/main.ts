#!/usr/bin/env node
import { homedir } from 'node:os';
import { runCommandLine } from './program';

// A reader that has seen enough (`fileconv formats | head -1`) is no failure of ours, and jobs under way go on.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

void runCommandLine(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  homeDir: homedir(),
  stdout: process.stdout,
  stderr: process.stderr,
}).then((exitCode) => {
  process.exitCode = exitCode;
  // The channel to a supervising process would keep this one alive.
  if (process.connected) process.disconnect();
});
