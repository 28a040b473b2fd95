import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cli = path.resolve(__dirname, '../../dist/cli');

/** The packages that Node loads with a program that has the modules of the command line at hand. */
async function packagesOf(program: string): Promise<string[]> {
  const tell = `
    const packages = Object.keys(require.cache).map((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1]);
    process.stderr.write(JSON.stringify([...new Set(packages.filter(Boolean))]));`;
  const { stderr } = await run(process.execPath, ['-e', `${program}\nprocess.once('exit', () => {${tell}});`], {
    cwd: cli,
  });
  return JSON.parse(stderr) as string[];
}

const serverSide = ['@temporalio/worker', '@temporalio/workflow', 'fastify', 'undici', 'tar', 'pino', 'prom-client'];

describe('the packages that a command waits for', () => {
  it('are none of worker and service when it runs a batch', async () => {
    const packages = await packagesOf("require('./program.js'); require('./commands/batch/run.js');");

    expect(packages).toContain('@temporalio/client');
    expect(packages.filter((each) => serverSide.includes(each))).toEqual([]);
  });

  it('are none of a command when it shows its help', async () => {
    const packages = await packagesOf("require('./program.js').runCommandLine(['batch', '--help'], process);");

    expect(packages).toEqual(['commander', 'picocolors']);
  });
});
