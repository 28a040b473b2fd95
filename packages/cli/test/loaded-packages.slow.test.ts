import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cli = path.resolve(__dirname, '../dist');

/** Files that Node loads for a program run in the folder of the built CLI. */
async function filesOf(program: string): Promise<string[]> {
  const tell = "process.once('exit', () => process.stderr.write(JSON.stringify(Object.keys(require.cache))));";
  return JSON.parse((await run(process.execPath, ['-e', `${program}\n${tell}`], { cwd: cli })).stderr) as string[];
}

function packagesOf(files: readonly string[]): string[] {
  const packages = files.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
  return [...new Set(packages.filter((name) => name !== undefined))];
}

const serverSide = ['@temporalio/worker', '@temporalio/workflow', 'fastify', 'undici', 'pino', 'prom-client'];

describe('the packages a command loads', () => {
  it('exclude those of worker and service for a batch run', async () => {
    const packages = packagesOf(await filesOf("require('./program.js'); require('./commands/batch/run.js');"));

    expect(packages).toContain('@temporalio/client');
    expect(packages.filter((each) => serverSide.includes(each))).toEqual([]);
  });

  it('exclude those for manifests and patterns for the conversion of a file', async () => {
    const packages = packagesOf(await filesOf("require('./commands/convert.js'); require('./convert/run-job.js');"));

    expect(packages).toContain('@temporalio/client');
    expect(packages.filter((each) => [...serverSide, 'csv-parse', 'picomatch'].includes(each))).toEqual([]);
  });

  it('exclude the slow ones for a stack until its Temporal has been started', async () => {
    const packages = packagesOf(
      await filesOf("require('./commands/convert.js'); require('./convert/convert-one.js');"),
    );

    expect(packages).toContain('zod');
    const slow = [...serverSide, '@temporalio/client', '@temporalio/proto', '@grpc/grpc-js'];
    expect(packages.filter((each) => slow.includes(each))).toEqual([]);
  });

  it('exclude Temporal’s client for the codec server', async () => {
    const packages = packagesOf(await filesOf("require('./program.js'); require('./keys/codec-server.js');"));

    expect(packages).toContain('fastify');
    expect(packages).not.toContain('@temporalio/client');
  });

  it.each(['--help', 'batch --help'])('exclude those of every command for its help: %s', async (line) => {
    const files = await filesOf(`require('./program.js').runCommandLine(${JSON.stringify(line.split(' '))}, process);`);

    expect(packagesOf(files)).toEqual(['commander', 'picocolors']);
  });
});

it('a batch starts before the code for its report is loaded', async () => {
  const files = await filesOf("require('./program.js'); require('./commands/batch/run.js');");

  expect(files.filter((file) => /commands.batch.run\.js$/.test(file))).toHaveLength(1);
  expect(files.filter((file) => /batch.(finish|report.page)/.test(file))).toEqual([]);
});
