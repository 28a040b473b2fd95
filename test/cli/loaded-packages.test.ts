import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cli = path.resolve(__dirname, '../../dist/cli');

/** The packages that Node loads with modules of the command line. */
async function packagesOf(...modules: string[]): Promise<string[]> {
  const program = `
    for (const name of ${JSON.stringify(modules.map((name) => path.join(cli, name)))}) require(name);
    const packages = Object.keys(require.cache).map((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1]);
    console.log(JSON.stringify([...new Set(packages.filter(Boolean))]));`;
  const { stdout } = await run(process.execPath, ['-e', program]);
  return JSON.parse(stdout) as string[];
}

const serverSide = ['@temporalio/worker', '@temporalio/workflow', 'fastify', 'undici', 'tar', 'pino', 'prom-client'];

describe('the packages that a command waits for', () => {
  it('are none of worker and service when it runs a batch', async () => {
    const packages = await packagesOf('program.js', 'commands/batch/run.js');

    expect(packages).toContain('@temporalio/client');
    expect(packages.filter((each) => serverSide.includes(each))).toEqual([]);
  });
});
