import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { searchAttributes } from '../../src/job/search-attributes';
import type { archiveInvoice } from '../../examples/embed-in-your-worker/workflows';
import { startStubService, stubAppId, stubToken, type StubService } from '../support/stub-service';
import { testClient, testTemporalAddress } from '../support/temporal';
import { commandEnv } from '../../packages/cli/test/fileconv';
import type { InstalledProject, Tarballs } from './installed-project';
import { copyIntoProject, environmentOutsideNpm, installPlugin, packAll } from './installed-project';

const example = 'examples/embed-in-your-worker';

const run = promisify(execFile);
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ license: z.string().optional(), dependencies: z.record(z.string(), z.string()).optional() }),
  ),
});
let folder: string;
let tarballs: Tarballs;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-packed-'));
  tarballs = await packAll(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the plugin, installed from its tarball into an empty project', () => {
  let project: InstalledProject;

  beforeAll(async () => (project = await installPlugin(tarballs.plugin)));
  afterAll(async () => await project.remove());

  it('contains the built code, its types and the workflow bundle, but no sources', async () => {
    const names = (await run('tar', ['-tzf', tarballs.plugin])).stdout
      .trim()
      .split('\n')
      .map((name) => name.replace('package/', ''));
    expect(names).toEqual(
      expect.arrayContaining([
        'README.md',
        'LICENSE',
        'CHANGELOG.md',
        'docs/README.md',
        'package.json',
        'dist/index.d.ts',
        'dist/worker.d.ts',
        'dist/workflows/index.d.ts',
        'dist/testing/index.d.ts',
        'dist/workflow-bundle.js',
        'dist/workflow-bundle.json',
      ]),
    );
    const strange = names.filter(
      (name) =>
        !/^dist\/.+(\.js|\.d\.ts|\.json)$/.test(name) &&
        !/^[^/]+\.(md|json)$|^LICENSE$|^docs\/.+\.(md|yml|json)$/.test(name),
    );
    expect(strange).toEqual([]);
    expect((await stat(tarballs.plugin)).size).toBeLessThan(800_000);
  });

  it('contains a bundle with the line numbers of its sources, but neither the sources nor their build path', async () => {
    const bundle = 'node_modules/temporal-file-conversion/dist/workflow-bundle.js';
    const code = await readFile(path.join(project.folder, bundle), 'utf8');
    const [, encoded = ''] = code.split('sourceMappingURL=data:').at(-1)?.split('base64,') ?? [];
    const map = JSON.parse(Buffer.from(encoded, 'base64').toString()) as {
      sources: string[];
      sourcesContent?: unknown;
    };
    expect(map.sources).toContain('./dist/workflows/job/conversion-job.js');
    expect(map.sources.filter((source) => path.isAbsolute(source))).toEqual([]);
    expect(map.sourcesContent).toBeUndefined();
  });

  it('names its repository, homepage and bug tracker, and has no OpenTelemetry peer dependency', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, Record<string, string>>;
    const { repository, homepage, bugs } = manifest;
    for (const each of [repository?.['url'], homepage, bugs]) expect(each).toMatch(/^(git\+)?https:\/\//);
    const { peerDependencies = {} } = manifest;
    expect(Object.keys(peerDependencies).filter((name) => name.includes('opentelemetry'))).toEqual([]);
  });

  it('adds few packages to those of Temporal, none of them under the GPL', async () => {
    const { packages } = lockSchema.parse(
      JSON.parse(await readFile(path.join(project.folder, 'package-lock.json'), 'utf8')),
    );
    const brought = new Map<string, string>();
    const waiting = ['temporal-file-conversion'];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const { license = 'none', dependencies = {} } = packages[`node_modules/${name}`] ?? {};
      brought.set(name, license);
      waiting.push(...Object.keys(dependencies).filter((each) => !brought.has(each)));
    }
    expect(brought.size).toBeGreaterThan(3);
    expect(brought.size).toBeLessThanOrEqual(13);
    expect(
      [...brought.values()].filter((license) => !/^(MIT|ISC|Unlicense|Apache-2\.0|BSD-[23]-Clause)$/.test(license)),
    ).toEqual([]);
  });

  it('can be imported from an ES module by name', async () => {
    const program = `
      import { FileConversionClient, FileConversionPlugin } from 'temporal-file-conversion';
      import { createConversionWorker } from 'temporal-file-conversion/worker';
      import { conversionJob } from 'temporal-file-conversion/workflows';
      import { conversionService } from 'temporal-file-conversion/nexus';
      const all = [FileConversionClient, FileConversionPlugin, createConversionWorker, conversionJob, conversionService];
      console.log(all.map((each) => typeof each).join());`;
    const printed = await project.run(process.execPath, ['--input-type=module', '--eval', program]);
    expect(printed.trim()).toBe('function,function,function,function,object');
  });

  describe('has types', () => {
    const consumer = `
      import { FileConversionClient, FileConversionPlugin } from 'temporal-file-conversion';
      import type { ConversionJobInput, ConversionJobResult } from 'temporal-file-conversion';
      import { createConversionWorker } from 'temporal-file-conversion/worker';
      import { conversionJob } from 'temporal-file-conversion/workflows';
      import { fileStoreContract } from 'temporal-file-conversion/testing';
      import { conversionService, type ConvertInput } from 'temporal-file-conversion/nexus';
      export const job: (input: ConversionJobInput) => Promise<ConversionJobResult> = conversionJob;
      // @ts-expect-error a job without a source: that this is an error shows that the types are not any
      export const incomplete: ConversionJobInput = { app: 'a', output: 'pdf' };
      export const used = [FileConversionClient, FileConversionPlugin, createConversionWorker, fileStoreContract, conversionService];
      // @ts-expect-error a call without a key
      export const keyless: ConvertInput = { app: 'a', source: { uri: 'file:///a' }, output: 'pdf' };`;

    beforeAll(async () => {
      for (const name of ['consumer.cts', 'consumer.mts', 'consumer.ts']) {
        await writeFile(path.join(project.folder, name), consumer);
      }
    });

    it.each([
      {
        project: 'CommonJS and ES modules',
        files: ['consumer.cts', 'consumer.mts'],
        options: ['--module', 'nodenext'],
      },
      {
        project: 'a bundler',
        files: ['consumer.ts'],
        options: ['--module', 'esnext', '--moduleResolution', 'bundler'],
      },
      {
        project: 'the old resolution, through typesVersions',
        files: ['consumer.ts'],
        options: ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'],
      },
    ])('for $project', async ({ files, options }) => {
      await project.compile(files, ['--noEmit', '--skipLibCheck', ...options]);
    });

    it('that a library can name: those of all return values, and of all exported values', async () => {
      // The entry for S3 needs a package that is not installed.
      const program = `
        const { exports } = require('temporal-file-conversion/package.json');
        for (const subpath of Object.keys(exports).filter((each) => !/json$|s3$/.test(each))) {
          const entry = 'temporal-file-conversion' + subpath.slice(1);
          const all = subpath.replace(/\\W/g, '_');
          console.log('import * as ' + all + " from '" + entry + "';");
          for (const [name, value] of Object.entries(require(entry))) {
            const item = all + '.' + name;
            const call = '(...given: Parameters<typeof ' + item + '>) => ' + item + '(...given)';
            const isCalled = typeof value === 'function' && !/^class /.test(value);
            console.log('export const ' + all + name + ' = ' + (isCalled ? call : item) + ';');
          }
        }`;
      const library = await project.run(process.execPath, ['--eval', program]);
      await writeFile(path.join(project.folder, 'library.ts'), library);
      await project.compile(
        ['library.ts'],
        ['--declaration', '--outDir', 'library', '--module', 'nodenext', '--skipLibCheck'],
      );
    });
  });

  describe('runs jobs', () => {
    let stub: StubService;
    let temporal: Client;
    let child: ChildProcess | undefined;
    let log = '';

    beforeAll(async () => {
      stub = await startStubService();
      temporal = await testClient();
      await mkdir(path.join(project.folder, 'files'));
      await writeFile(path.join(project.folder, 'files/invoice.docx'), 'an invoice');
    });

    afterEach(() => {
      child?.kill('SIGKILL');
      child = undefined;
    });

    afterAll(async () => {
      await temporal.connection.close();
      await stub.close();
    });

    const uriOf = (name: string) => pathToFileURL(path.join(project.folder, 'files', name)).href;

    /** Starts a program of the project that runs a worker. */
    function startWorker(program: string): ChildProcess {
      log = '';
      child = spawn(process.execPath, [program], {
        cwd: project.folder,
        env: {
          ...project.env,
          TEMPORAL_ADDRESS: testTemporalAddress(),
          CONVERSION_URL: stub.url,
          CONVERSION_APP_ID: stubAppId,
          CONVERSION_TOKEN: stubToken,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
      return child;
    }

    /** Stops a worker like a deployment does. Returns its exit code. */
    async function drain(worker: ChildProcess): Promise<number | null> {
      const exited = once(worker, 'exit');
      worker.kill('SIGTERM');
      await exited;
      return worker.exitCode;
    }

    it('as children of the workflow in examples/embed-in-your-worker', async () => {
      const files = ['worker.ts', 'workflows.ts', 'start.ts'];
      for (const file of files) await copyIntoProject(project, `${example}/${file}`, `src/${file}`);
      const options = ['--module', 'node16', '--skipLibCheck', '--outDir', 'app'];
      await project.compile(
        files.map((file) => `src/${file}`),
        options,
      );
      const worker = startWorker('app/worker.js');
      const died = once(worker, 'exit').then(() => {
        throw new Error(`the worker ended: ${log}`);
      });
      died.catch(() => undefined);
      const workflowId = `archive-${path.basename(project.folder)}`;
      const archived = temporal.workflow.execute<typeof archiveInvoice>('archiveInvoice', {
        workflowId,
        taskQueue: 'invoices',
        args: [{ invoice: uriOf('invoice.docx'), archive: uriOf('archive/') }],
        workflowExecutionTimeout: '90 seconds',
      });
      expect(await Promise.race([archived, died])).toMatch(/^[0-9a-f]{64}$/);
      expect(await readFile(path.join(project.folder, 'files/archive/invoice.pdf'), 'utf8')).toBe('PK result');
      const job = await temporal.workflow.getHandle(`${workflowId}/pdf`).describe();
      expect(job).toMatchObject({ type: 'conversionJob', parentExecution: { workflowId } });
      expect(job.typedSearchAttributes.get(searchAttributes.app)).toBe('invoices');
      expect(await drain(worker)).toBe(0);
    });

    it('on a worker of their own, which starts from the packaged bundle', async () => {
      const taskQueue = `package-${path.basename(project.folder)}`;
      await writeFile(
        path.join(project.folder, 'conversion-worker.js'),
        `const { NativeConnection } = require('@temporalio/worker');
        const { FileConversionPlugin, createConversionWorker } = require('temporal-file-conversion/worker');
        const { TEMPORAL_ADDRESS: address, CONVERSION_URL: baseUrl, CONVERSION_APP_ID: appId, CONVERSION_TOKEN: token } = process.env;
        (async () => {
          const connection = await NativeConnection.connect({ address });
          const plugin = new FileConversionPlugin({ apps: { stub: { baseUrl, appId, token } } });
          const worker = await createConversionWorker({ connection, plugin, taskQueue: ${JSON.stringify(taskQueue)} });
          await worker.run();
          await connection.close();
        })();`,
      );
      const worker = startWorker('conversion-worker.js');
      const result = await new FileConversionClient({ client: temporal, taskQueue, app: 'stub' }).convert({
        source: uriOf('invoice.docx'),
        output: 'pdf',
        destination: uriOf('alone/'),
      });
      expect(result.output?.name).toBe('invoice.pdf');
      expect(await drain(worker)).toBe(0);
      expect(log).toContain('DRAINED');
      expect(log).not.toContain('webpack');
    });
  });
});

describe('the command line, installed from its tarball alone', () => {
  let prefix: string;
  let bin: string;

  beforeAll(async () => {
    prefix = path.join(folder, 'global');
    bin = path.join(prefix, 'bin/fileconv');
    const options = ['--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, tarballs.cli], { env: environmentOutsideNpm() });
  });

  it('prints its version, and contains nothing that only a clone needs', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect((await run(bin, ['--version'])).stdout.trim()).toBe(version);
    expect((await run('tar', ['-tzf', tarballs.cli])).stdout).not.toMatch(/quickstart|tsbuildinfo|\.ts\.map|\/src\//);
  });

  it('converts in an empty folder, with a service and a Temporal server of its own', async () => {
    const cwd = path.join(folder, 'empty');
    await mkdir(cwd);
    await writeFile(path.join(cwd, 'note.md'), '# Note\n');
    const env = commandEnv({ FILECONV_STATE_DIR: path.join(cwd, 'state') });
    await run(bin, ['convert', 'note.md', '--to', 'html'], { cwd, env });
    expect(await readFile(path.join(cwd, 'note.html'), 'utf8')).toContain('<h1');
  });
});
