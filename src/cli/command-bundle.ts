import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';
import type { runCommandLine } from './program';

/** What `npm run build` makes: `program.js` and what it loads, as the expression of a function that takes what a module of Node takes. */
const bundleFile = path.join(__dirname, 'bundle.js');
const compiledFile = path.join(__dirname, 'bundle.compiled');

interface Program {
  runCommandLine: typeof runCommandLine;
}

export interface CommandBundle {
  program: Program;
  /** Keeps the code that V8 has compiled so far for the processes to come. */
  saveCompiled(): void;
}

/**
 * Loads the command line from one file with its compiled code beside it, in two thirds of the time that its 460 modules take (docs/decisions/0009-commands-in-one-file.md).
 * Another version of Node, or other flags, can't use that code and compile the file anew.
 *
 * @returns `undefined` where there is no such file, as in the published package.
 */
export function openCommandBundle(): CommandBundle | undefined {
  if (!existsSync(bundleFile)) return undefined;
  const script = new Script(readFileSync(bundleFile, 'latin1'), {
    filename: bundleFile,
    cachedData: existsSync(compiledFile) ? readFileSync(compiledFile) : undefined,
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...scope: unknown[]) => void;
  run(module.exports, createRequire(bundleFile), module, bundleFile, __dirname);
  return {
    program: module.exports as Program,
    saveCompiled: () => writeFileSync(compiledFile, script.createCachedData()),
  };
}
