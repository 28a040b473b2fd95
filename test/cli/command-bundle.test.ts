import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { commandEnv, mainFile } from './fileconv';

const run = promisify(execFile);
const built = path.dirname(mainFile);

/** Runs the command line inside a program that then tells which files Node has loaded as modules. */
async function modulesOf(...argv: string[]): Promise<string> {
  const program = `
    process.argv = [process.argv[0], ${JSON.stringify(mainFile)}, ...${JSON.stringify(argv)}];
    process.once('exit', () => process.stderr.write(Object.keys(require.cache).join('\\n')));
    require(${JSON.stringify(mainFile)});`;
  const { stdout, stderr } = await run(process.execPath, ['-e', program], { env: commandEnv() });
  expect(stdout).toContain('Usage: fileconv');
  return stderr;
}

describe('the file that the build makes of all commands', () => {
  it('is what a command runs, in place of its modules', async () => {
    expect(await modulesOf('batch', '--help')).not.toMatch(/node_modules|dist.cli.program\.js/);
  });

  it('is not what a process runs that stays', async () => {
    const modules = await modulesOf('worker', '--help');

    expect(modules).toMatch(/node_modules.commander/);
    expect(modules).toMatch(/dist.cli.program\.js/);
  });

  it('holds ASCII alone, as which it is read', async () => {
    expect((await readFile(path.join(built, 'bundle.js'))).every((byte) => byte < 0x80)).toBe(true);
  });

  it('lies beside its compiled code, which this version of Node takes', async () => {
    const cachedData = await readFile(path.join(built, 'bundle.compiled'));
    const script = new Script(await readFile(path.join(built, 'bundle.js'), 'latin1'), { cachedData });

    expect(script.cachedDataRejected).toBe(false);
  });

  it('runs without that code in a Node with other flags', async () => {
    const cachedData = path.join(built, 'bundle.compiled');
    const isTaken = `
      const { readFileSync } = require('node:fs');
      const script = new (require('node:vm').Script)(readFileSync(${JSON.stringify(path.join(built, 'bundle.js'))}, 'latin1'), {
        cachedData: readFileSync(${JSON.stringify(cachedData)}) });
      console.log(!script.cachedDataRejected);`;
    const flags = ['--no-lazy-feedback-allocation'];
    expect((await run(process.execPath, [...flags, '-e', isTaken])).stdout).toBe('false\n');

    const { stdout } = await run(process.execPath, [...flags, mainFile, 'batch', '--help'], { env: commandEnv() });
    expect(stdout).toContain('Usage: fileconv batch');
  });
});
