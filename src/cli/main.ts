#!/usr/bin/env node
import { homedir } from 'node:os';
import { runCommandLine } from './program';

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
