import { spawnSync } from 'node:child_process';
import path from 'node:path';

const limit = 64;

/**
 * Runs `told` in a process that can open only `free` more files, and again when it can open many. A separate process, since a lowered limit
 * can't be raised again. `load(PATH)` is a compiled module of the repository.
 */
export function tellOutOfFiles(code: { free: number; before: string; told: string }): unknown {
  const root = path.resolve(__dirname, '../..');
  const program = `
    const { closeSync, openSync } = require('node:fs');
    const load = (file) => require(require('node:path').join(${JSON.stringify(root)}, file));
    (async () => {
      ${code.before}
      const tell = async () => ${code.told};
      const held = [];
      try { for (;;) held.push(openSync('/dev/null')); } catch {}
      for (const file of held.splice(held.length - ${code.free})) closeSync(file);
      const told = [await tell()];
      for (const file of held) closeSync(file);
      console.log(JSON.stringify([...told, await tell()]));
      process.exit();
    })();`;
  const shell = `ulimit -n ${limit}; exec "$0" -e "$1"`;
  const { stdout, stderr } = spawnSync('sh', ['-c', shell, process.execPath, program], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}
