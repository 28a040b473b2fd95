import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { fileconvProcess, newFolder, parseJson, removeFolders, type Ended } from '../../packages/cli/test/fileconv';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { appReadySignal } from '../../src/shared/names';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { SecretTraces } from '../support/secret-traces';
import { answerError, answerOutput, cut, stubAppId } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';
import { startCollector, type CollectedSpan, type Collector } from './collector';

/** A real command, a real worker and a real collector, and one job that is traced. */

const token = 'Trace+Token/4711=do~not?tell';
const signature = 'signed-4711-of-the-download-link';
const dist = path.resolve(__dirname, '../../dist');
const cli = path.resolve(__dirname, '../../packages/cli/dist');

const taskQueue = `traced-${randomUUID()}`;

let collector: Collector;
/** Runs jobs without traces beside those that are traced; its stub serves both. */
let rig: ConversionRig;
let worker: WorkerProcess;
let folder: string;
let converted: Ended;
const sentHeaders: IncomingHttpHeaders[] = [];
/** Where the service keeps its files: another origin. */
const storage = createServer(({ headers }, response) => {
  sentHeaders.push(headers);
  response.writeHead(200, { 'content-length': 9 }).end('converted');
});

beforeAll(async () => {
  collector = await startCollector();
  rig = await startRig();
  folder = await newFolder();
  await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
  const { port } = storage.address() as AddressInfo;
  const link = `http://127.0.0.1:${port}/files/${signature}/result.pdf?sig=${signature}`;
  rig.stub.on('download/url', (_seen, response) =>
    answerOutput(response, { connector: randomUUID(), name: 'result', size: 9, url: link }),
  );
  for (const endpoint of ['upload/file', 'convert/file', 'task/response', 'download/url']) {
    rig.stub.onArrival(endpoint, ({ headers }) => {
      sentHeaders.push(headers);
      return Promise.resolve();
    });
  }
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  worker = await WorkerProcess.start({
    taskQueue,
    folder,
    apps: { stub: rig.stub.url },
    token,
    env: { ...tracing, FILECONV_LOG_LEVEL: 'debug' },
  });
  await writeFile(path.join(folder, 'a.md'), '# A\n');
  // A process of its own: traces are set up where a process begins.
  converted = await fileconvProcess(['convert', 'a.md', '--to', 'pdf', '--app', 'stub'], {
    cwd: folder,
    env: {
      ...tracing,
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_WORKER_TASK_QUEUE: taskQueue,
      // That of the worker, which has made it.
      FILECONV_STATE_DIR: path.join(folder, '.fileconv'),
      FILECONV_APPS_STUB_BASE_URL: rig.stub.url,
      FILECONV_APPS_STUB_APP_ID: stubAppId,
      FILECONV_APPS_STUB_TOKEN: token,
    },
  });
  await until('the run has ended', () => collector.spans.some(({ name }) => name === 'RunWorkflow:conversionJob'));
  const [start] = spansCalled('StartWorkflow:conversionJob');
  const job = rig.client.get(String(start?.attributes['temporalWorkflowId']));
  await job.state();
  const untraced = new FileConversionClient({ client: rig.temporal, taskQueue, app: 'stub' });
  rig.stub.on('upload/file', (_seen, response) => answerError(response, 200, 'NOT_VALID_EXTENSION'));
  await untraced.convert({ source: path.join(folder, 'a.md'), output: 'docx' }).catch(() => undefined);
  await worker.drain();
});

afterAll(async () => {
  await worker.kill();
  await rig.close([taskQueue]);
  await collector.close();
  storage.close();
  storage.closeAllConnections();
  await removeFolders();
});

function spansCalled(name: string): CollectedSpan[] {
  return collector.spans.filter((each) => each.name === name);
}

/** Of the trace that the command began. */
function spansOfCommand(): CollectedSpan[] {
  const [start] = spansCalled('StartWorkflow:conversionJob');
  return collector.spans.filter(({ traceId }) => traceId === start?.traceId);
}

/** The names from the trace's root to each span that nothing is below. */
function branchesOf(spans: readonly CollectedSpan[]): string[] {
  const byId = new Map(spans.map((each) => [each.spanId, each]));
  const parents = new Set(spans.map(({ parentSpanId }) => parentSpanId));
  const pathOf = (each: CollectedSpan): string => {
    const parent = each.parentSpanId === undefined ? undefined : byId.get(each.parentSpanId);
    if (each.parentSpanId !== undefined && !parent) return `(lost) > ${each.name}`;
    return parent ? `${pathOf(parent)} > ${each.name}` : each.name;
  };
  return spans.filter(({ spanId }) => !parents.has(spanId)).map(pathOf);
}

it('a job is one trace: the command that started it, its run, its steps, their attempts, and the requests of each', () => {
  expect(converted.code).toBe(0);
  const run = 'StartWorkflow:conversionJob > RunWorkflow:conversionJob';
  const step = (name: string) => `${run} > StartActivity:conversion.${name} > RunActivity:conversion.${name}`;
  expect(branchesOf(spansOfCommand()).sort()).toEqual(
    [
      `${step('uploadFile')} > POST v1/upload/file`,
      `${step('convertFile')} > POST v1/convert/file`,
      `${step('checkTask')} > POST v1/task/response`,
      `${step('downloadFile')} > POST v1/download/url`,
      `${step('downloadFile')} > GET v1/download/url/get`,
    ].sort(),
  );
});

it('each span names its process and its job, and a request what was asked and answered', () => {
  const [start] = spansCalled('StartWorkflow:conversionJob');
  const workflowId = start?.attributes['temporalWorkflowId'];
  expect(start?.service).toBe('fileconv');
  for (const each of spansOfCommand().filter((other) => other !== start)) {
    expect(each.service).toBe('fileconv-worker');
    if (each.kind !== 3) expect(each.attributes['temporalWorkflowId']).toBe(workflowId);
  }
  const [upload] = spansCalled('POST v1/upload/file');
  expect(upload).toMatchObject({
    kind: 3,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(rig.stub.url).port),
      'fileconv.endpoint_class': 'upload',
    },
  });
});

it('the run is told with its ids, and with nothing else of the workflow', () => {
  const [run] = spansCalled('RunWorkflow:conversionJob');
  expect(Object.keys(run?.attributes ?? {}).sort()).toEqual(['run_id', 'temporalWorkflowId']);
});

it('no span holds the token, or the path or query of a download link', () => {
  expect(collector.received()).toContain('POST v1/download/url');
  for (const secret of [token, signature]) {
    expect(new SecretTraces(secret).find(collector.received())).toBeUndefined();
  }
  expect(collector.received()).not.toMatch(/authorization|bearer/i);
});

it('nothing of the trace is sent to the service, or to where it keeps its files', () => {
  expect(sentHeaders.length).toBeGreaterThanOrEqual(5);
  const names = sentHeaders.flatMap((headers) => Object.keys(headers));
  expect(names.filter((name) => /trace|baggage|b3/i.test(name))).toEqual([]);
});

it('a run that nobody has traced begins a trace that is called like the run, and what it writes into the log names it', async () => {
  const lines = (await readFile(worker.logFile, 'utf8')).trim().split('\n').map(parseJson) as Record<string, unknown>[];
  const failed = lines.filter(({ msg }) => msg === 'Job failed');
  expect(failed).toHaveLength(1);
  const traceId = String(failed[0]?.['runId']).replaceAll('-', '');
  expect(failed[0]).toMatchObject({ trace_id: traceId, span_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
  const spans = collector.spans.filter((each) => each.traceId === traceId);
  expect(spans.map(({ name, statusCode }) => [name, statusCode])).toContainEqual(['RunWorkflow:conversionJob', 2]);
  expect(branchesOf(spans)).toEqual([
    'RunWorkflow:conversionJob > StartActivity:conversion.uploadFile > RunActivity:conversion.uploadFile > POST v1/upload/file',
  ]);
});

it('without the variables the workflows have nothing of traces in them', async () => {
  const bundle = await readFile(path.join(dist, 'workflow-bundle.js'), 'utf8');
  expect(bundle.includes('conversionJob')).toBe(true);
  expect(bundle.includes('@opentelemetry/')).toBe(false);
});

it('histories that were made without traces are replayed with them, and the other way round', async () => {
  const [start] = spansCalled('StartWorkflow:conversionJob');
  const traced = [String(start?.attributes['temporalWorkflowId'])];
  const untraced = await runWithoutTraces();
  const bundle = await bundleWorkflowCode({
    workflowsPath: path.join(dist, 'workflows/index.js'),
    workflowInterceptorModules: [path.join(cli, 'observability/tracing/workflow-interceptors.js')],
    logger: new DefaultLogger('ERROR'),
  });
  await replay({ code: bundle.code }, untraced);
  await replay({ codePath: path.join(dist, 'workflow-bundle.js') }, traced);
});

it.each([
  [
    'the packages are missing',
    { WITHOUT_OPENTELEMETRY: 'missing' },
    /^error: Traces need packages that are not installed\. Install them \(npm install @temporalio/,
  ],
  [
    'the packages are of another major version',
    { WITHOUT_OPENTELEMETRY: 'other' },
    /^error: Traces need packages that are installed in another major version\. Install them \(npm install @temporalio/,
  ],
  ['gRPC is asked for', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^error: Traces are sent by OTLP over HTTP, not gRPC/],
])('a worker that cannot trace does not start, and says why in one line: %s', async (_why, env, problem) => {
  const cwd = await newFolder();
  const hook = path.join(cwd, 'without-opentelemetry.cjs');
  await writeFile(hook, withoutPackages);
  const ended = await fileconvProcess(['worker'], {
    cwd,
    env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, NODE_OPTIONS: `--require ${JSON.stringify(hook)}` },
  });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(problem);
  expect(ended.stderr.trimEnd()).not.toContain('\n');
});

/** As if nobody had installed them, or a version that has no class of that name any more. */
const withoutPackages = `const { Module } = require('node:module');
const load = Module._load;
Module._load = function (request, ...rest) {
  const way = process.env.WITHOUT_OPENTELEMETRY;
  if (way === 'other' && request === '@opentelemetry/resources') return {};
  if (way === 'missing' && request.startsWith('@opentelemetry/')) {
    throw Object.assign(new Error('Cannot find module ' + request), { code: 'MODULE_NOT_FOUND' });
  }
  return load.call(this, request, ...rest);
};
`;

/** Jobs that take the ways on which steps, timers and signals meet; their ids. */
async function runWithoutTraces(): Promise<string[]> {
  const { stub, client } = rig;
  const done = new Set<string>();
  stub.asAlways('upload/file');
  stub.on('convert/file', (seen, response) => {
    const { name: kind } = path.parse(stub.fileOf(seen));
    if (done.has(kind) || kind === 'fine') stub.answerAsAlways(seen, response);
    else if (kind === 'poor') answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else cut(response);
    done.add(kind);
  });
  const start = async (kind: string, output: string) =>
    client.start({ source: await rig.source(`${kind}.md`), output, policies: { ...quickPolicies, pollAfter: 100 } });
  const poor = await start('poor', 'docx');
  const others = [await start('fine', 'pdf'), await start('cut', 'pdf')];
  await until('the job is parked', async () => (await poor.state()).phase === 'parked');
  await rig.temporal.workflow.getHandle(poor.workflowId).signal(appReadySignal);
  const all = [poor, ...others];
  await Promise.all(all.map((job) => job.result()));
  return all.map(({ workflowId }) => workflowId);
}

async function replay(workflowBundle: { code: string } | { codePath: string }, ids: readonly string[]): Promise<void> {
  // Spans of the past are not told again; this is where they would go.
  const sinks = { exporter: { export: { fn: () => undefined } } };
  for (const workflowId of ids) {
    const history = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle, sinks }, history, workflowId);
  }
}
