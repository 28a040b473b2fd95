import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startStubService, stubAppId, stubToken, type StubService } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { installPlugin, packAll, type InstalledProject } from './installed-project';

/** The tarball with the test tools of its users: a worker with the plugin is started and stopped in one of their tests. */

let folder: string;
let stub: StubService;
let plugin: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-tools-'));
  stub = await startStubService();
  ({ plugin } = await packAll(folder));
});
afterAll(async () => {
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

/** The body of the user's test. `load` writes an import for the tool's module system. */
function body(load: (names: string, from: string) => string): string {
  return `${load('NativeConnection, Worker', '@temporalio/worker')}
${load('Client, Connection', '@temporalio/client')}
${load('FileConversionPlugin', 'temporal-file-conversion')}
${load('FileConversionClient', 'temporal-file-conversion/client')}
test('converts', async () => {
  const { ADDRESS: address, SERVICE: baseUrl, FOLDER: folder } = process.env;
  const connection = await NativeConnection.connect({ address });
  const taskQueue = 'tools-' + process.pid;
  const plugins = [new FileConversionPlugin({ apps: { stub: { baseUrl, appId: '${stubAppId}', token: '${stubToken}' } } })];
  const worker = await Worker.create({ connection, taskQueue, plugins });
  const client = new Client({ connection: await Connection.connect({ address }) });
  const conversions = new FileConversionClient({ client, taskQueue, app: 'stub' });
  const source = folder + '/source.md';
  const result = await worker.runUntil(conversions.convert({ source, output: 'pdf', destination: folder + '/' + process.pid + '.pdf' }));
  expect(result.status).toBe('succeeded');
  await client.connection.close();
  await connection.close();
}, 60000);
`;
}

async function install(tool: string): Promise<InstalledProject> {
  const project = await installPlugin(plugin);
  await project.run('npm', ['install', '--no-audit', '--no-fund', tool]);
  await writeFile(path.join(folder, 'source.md'), '# a');
  Object.assign(project.env, { ADDRESS: testTemporalAddress(), SERVICE: stub.url, FOLDER: folder });
  return project;
}

it('runs in a CommonJS project with default Jest 29', async () => {
  const project = await install('jest@29');
  try {
    const test = body((names, from) => `const { ${names} } = require('${from}');`);
    await writeFile(path.join(project.folder, 'a.test.js'), test);
    await project.run('npx', ['jest', 'a.test.js']);
  } finally {
    await project.remove();
  }
});

it('runs in an ESM project with Vitest', async () => {
  const project = await install('vitest@3');
  try {
    const manifest = path.join(project.folder, 'package.json');
    const own = JSON.parse(await readFile(manifest, 'utf8')) as object;
    await writeFile(manifest, JSON.stringify({ ...own, type: 'module' }));
    const test = body((names, from) => `import { ${names} } from '${from}';`);
    await writeFile(path.join(project.folder, 'a.test.js'), `import { test, expect } from 'vitest';\n${test}`);
    await project.run('npx', ['vitest', 'run']);
  } finally {
    await project.remove();
  }
});
