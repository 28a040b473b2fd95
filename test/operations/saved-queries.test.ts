import { readFileSync } from 'node:fs';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { startingAttributes } from '../../src/job/search-attributes';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerCompleted, answerError, answerRunning, cut } from '../support/stub-service';
import { until } from '../support/until';

/** The queries of docs/operations/saved-queries.md, verbatim, with jobs of each kind. */

const page = readFileSync(path.resolve(__dirname, '../../docs/operations/saved-queries.md'), 'utf8');
const queries = new Map(
  [...page.matchAll(/^\| (.+?) \| `(.+)` \|$/gm)].map(([, name = '', query = '']) => [name, query]),
);

/** Other tests of this run share the server. */
const app = 'billing';
const prefix = `queries-${randomUUID()}`;
const batch = 'invoices';
/** The example values of the page. */
const example = { taskId: '6f0c4b5e-0d57-4c1e-8a43-9d3d5c0e7b52', code: 'FAILED_CONVERT' };

let rig: ConversionRig;
/** A time between the start of the first job and that of the others. */
let afterFirst: Date;

/** What the service does with a job, by name. */
const services: Record<string, (submits: number) => 'run' | 'cut' | 'poor' | 'fail'> = {
  old: () => 'run',
  parked: () => 'poor',
  done: () => 'run',
  failed: () => 'fail',
  twice: (submits) => (submits === 1 ? 'cut' : 'run'),
  'twice-failed': (submits) => (submits === 1 ? 'cut' : 'fail'),
  terminated: () => 'run',
};

beforeAll(async () => {
  rig = await startRig({ app });
  const submits = new Map<string, number>();
  const tasks = new Map<string, string>();
  rig.stub.on('convert/file', (seen, response) => {
    const { name } = path.parse(rig.stub.fileOf(seen));
    submits.set(name, (submits.get(name) ?? 0) + 1);
    const does = services[name]?.(submits.get(name) ?? 0);
    if (does === 'poor') {
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      return;
    }
    if (does === 'cut') {
      cut(response);
      return;
    }
    const id = name === 'done' ? example.taskId : randomUUID();
    tasks.set(id, name);
    answerRunning(response, id);
  });
  rig.stub.on('task/response', ({ connector: id }, response) => {
    const name = tasks.get(id) ?? '';
    if (name === 'old' || name === 'terminated') {
      answerRunning(response, id);
      return;
    }
    const isFailure = services[name]?.(2) === 'fail';
    const vcredits = name === 'done' ? 7 : 1;
    answerCompleted(response, id, isFailure ? { error: { code: example.code, message: 'No.' } } : { vcredits });
  });
  await start('old');
  await listed(1);
  afterFirst = new Date();
  for (const name of Object.keys(services).slice(1)) await start(name);
  await until('its task runs', () => [...tasks.values()].includes('terminated'));
  await rig.temporal.workflow.getHandle(`${prefix}/terminated`).terminate();
  const over = "ExecutionStatus != 'Running' OR ConversionStatus = 'parked'";
  await until('all have come to their end', async () => (await find(over)).length === Object.keys(services).length - 1);
});

afterAll(async () => {
  for (const name of ['old', 'parked']) await rig.temporal.workflow.getHandle(`${prefix}/${name}`).terminate();
  await rig.close();
});

async function start(name: string): Promise<void> {
  const inBatch = ['done', 'failed', 'parked'].includes(name);
  const input = name === 'done' ? 'png' : 'md';
  // A lack of vCredits parks all jobs of the same formats, so these jobs have others.
  const output = { done: 'webp', parked: 'docx' }[name] ?? 'pdf';
  const source = { uri: `file://${await rig.source(`${name}.${input}`)}` };
  await rig.temporal.workflow.start('conversionJob', {
    workflowId: `${prefix}/${name}`,
    taskQueue: rig.taskQueue,
    args: [{ app, source, output, policies: quickPolicies }],
    typedSearchAttributes: startingAttributes(
      { app, source, output },
      inBatch ? { batchId: batch, tags: ['march'] } : {},
    ),
  });
}

const listed = async (count: number): Promise<void> =>
  await until('it is listed', async () => (await find("ConversionApp = 'billing'")).length === count);

/** Names of this test's jobs that match the query. */
async function find(query: string): Promise<string[]> {
  const found: string[] = [];
  const ours = `WorkflowId STARTS_WITH '${prefix}/' AND (${query})`;
  for await (const { workflowId } of rig.temporal.workflow.list({ query: ours })) found.push(workflowId);
  return found.map((id) => id.slice(prefix.length + 1)).sort();
}

const expected: Record<string, string[]> = {
  Parked: ['parked'],
  'Parked, of one app': ['parked'],
  'Failed since a time': ['failed', 'terminated', 'twice-failed'],
  'Failed by code': ['failed', 'twice-failed'],
  'Ended by Temporal, not by the job': ['terminated'],
  'Possibly charged twice': ['twice', 'twice-failed'],
  'Possibly charged twice, and failed all the same': ['twice-failed'],
  'Older than a day': ['old'],
  'Older than a day, and not parked': ['old'],
  'By batch': ['done', 'failed', 'parked'],
  'By tag': ['done', 'failed', 'parked'],
  'What failed of a batch': ['failed'],
  'The job of a conversion task': ['done'],
  'By formats': ['done'],
  'What cost much': ['done'],
};

it('every query of the page is tested here', () =>
  expect([...queries.keys()].sort()).toEqual(Object.keys(expected).sort()));

it.each(Object.entries(expected))('%s', async (name, names) => {
  const query = queries.get(name) ?? '';
  // Replaces the example time with one between the jobs.
  expect(await find(query.replace(/'\d{4}-\d\d-\d\dT[\d:]+Z'/, `'${afterFirst.toISOString()}'`))).toEqual(names);
});
