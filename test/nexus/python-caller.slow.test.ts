import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@temporalio/client';
import { newNamespace } from '../support/namespace';
import { newEndpoint } from '../support/nexus-caller';
import { hasPython, pythonFor } from '../support/python';
import { answerRunning, startStubService, type StubService } from '../support/stub-service';
import { testClient, testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** examples/python-nexus-caller and `fileconv worker` in separate namespaces, connected only by an endpoint. */

const example = path.resolve(__dirname, '../../examples/python-nexus-caller');
const taskQueue = `python-${randomUUID()}`;

if (!hasPython) console.warn('Skipped: there is no python3 on this machine.');

(hasPython ? describe : describe.skip)('a Python workflow that calls through Nexus', () => {
  let folder: string;
  let python: string;
  let stub: StubService;
  let handler: Client;
  let caller: Client;
  let worker: WorkerProcess;
  let endpoint: string;
  const programs: ChildProcess[] = [];

  beforeAll(async () => {
    python = await pythonFor(path.join(example, 'requirements.txt'));
    folder = await mkdtemp(path.join(tmpdir(), 'fileconv-python-'));
    stub = await startStubService();
    handler = await testClient();
    caller = new Client({ connection: handler.connection, namespace: await newNamespace(handler) });
    endpoint = await newEndpoint(handler, { namespace: 'default', taskQueue });
    worker = await startWorker();
  });

  afterEach(() => stub.asAlways('convert/file', 'task/response'));

  afterAll(async () => {
    for (const program of programs) program.kill('SIGKILL');
    await worker.kill();
    await handler.connection.close();
    await stub.close();
    await rm(folder, { recursive: true, force: true });
  });

  function startWorker(): Promise<WorkerProcess> {
    const env = { FILECONV_WORKER_NEXUS_APPS: 'invoices', FILECONV_POLICIES_FIRST_CHECK_AFTER: '50 ms' };
    return WorkerProcess.start({ taskQueue, folder, apps: { invoices: stub.url }, env });
  }

  const idOf = (key: string) => `nexus/invoices/${key}`;

  /** Starts the program of the example. */
  async function callFor(key: string): Promise<{ ended: Promise<{ code: number; stdout: string; stderr: string }> }> {
    await mkdir(path.join(folder, key));
    const source = path.join(folder, key, 'invoice.docx');
    await writeFile(source, 'an invoice');
    const uris = [source, path.join(folder, key, 'invoice.pdf')].map((file) => pathToFileURL(file).href);
    const child = spawn(python, ['caller.py', endpoint, 'invoices', key, ...uris], {
      cwd: example,
      env: {
        ...process.env,
        TEMPORAL_ADDRESS: testTemporalAddress(),
        TEMPORAL_NAMESPACE: caller.options.namespace,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    programs.push(child);
    const texts = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
    return { ended: new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, ...texts }))) };
  }

  const runsOf = async (key: string) => (await handler.workflow.count(`WorkflowId = '${idOf(key)}'`)).count;
  /** Polling proves that the worker has recorded the task: an earlier kill could cause a second submit. */
  const isPolling = (polls: number) => () => stub.count('task/response') > polls + 1;

  it('gets the SHA-256 of the file', async () => {
    const { ended } = await callFor('simple');
    const sha256 = createHash('sha256').update(stub.output).digest('hex');
    expect(await ended).toEqual({ code: 0, stdout: `${sha256}\n`, stderr: '' });
    expect(await readFile(path.join(folder, 'simple/invoice.pdf'))).toEqual(stub.output);
  });

  it('gets it from one job even if there was no worker when it called', async () => {
    await worker.kill();
    const { ended } = await callFor('early');
    await until('it has called', async () => {
      const description = await caller.workflow
        .getHandle('archive/early')
        .describe()
        .catch(() => undefined);
      return description?.raw.pendingNexusOperations?.length === 1;
    });
    worker = await startWorker();
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f]{64}\n$/) as string });
    expect(await runsOf('early')).toBe(1);
  });

  it('fails with the code and the advice of the job, which submitted once', async () => {
    stub.fail('convert/file', 400, 'INVALID_FORMAT');
    const before = stub.count('convert/file');
    const { code, stdout, stderr } = await (await callFor('failed')).ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^INVALID_FORMAT: invoice\.docx → pdf: .*choose another format/);
    expect(stub.count('convert/file')).toBe(before + 1);
  });

  it('cancels the job when it is cancelled', async () => {
    stub.on('task/response', (seen, response) => answerRunning(response, seen.connector));
    const polls = stub.count('task/response');
    const { ended } = await callFor('cancelled');
    await until('the conversion runs', isPolling(polls));
    await caller.workflow.getHandle('archive/cancelled').cancel();
    expect(await ended).toEqual({ code: 1, stdout: '', stderr: 'CANCELLED\n' });
    expect((await handler.workflow.getHandle(idOf('cancelled')).describe()).status.name).toBe('CANCELLED');
  });
});
