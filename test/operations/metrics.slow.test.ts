import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorCodes } from '../../src/contract/error-codes';
import { failureCodes } from '../../src/job/activities';
import { workerMetrics } from '../../src/job/metrics';
import { fileconv, newFolder } from '../../packages/cli/test/fileconv';
import { stubAppId, stubToken } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';
import { Exposition, type Sample } from './exposition';
import { callbackKey, secretName, startMeteredStack, type MeteredStack } from './metered-stack';

/** The metrics of a real worker, receiver and service, after jobs with every kind of end. */

const folder = path.resolve(__dirname, '../../docs/operations');

const alertsSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});
const dashboardSchema = z.looseObject({
  panels: z.array(
    z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).optional() }),
  ),
});

/** A query, and where it is used. */
interface Query {
  where: string;
  expr: string;
}

/** The parts of a parsed query. */
interface Asked {
  /** Metrics with the labels that are matched. */
  metrics: { name: string; labels: string[] }[];
  groupedBy: string[];
  isBroken: boolean;
}

let stack: MeteredStack;
const told = {} as Record<keyof MeteredStack['urls'], Exposition>;
const ids: string[] = [];

beforeAll(async () => {
  stack = await startMeteredStack();
  const { start } = stack;
  const parked = await start('poor');
  const cancelled = await start('poor');
  const ending = await Promise.all([
    start('fine'),
    start('flaky'),
    start('limited'),
    start('cut', { onUnknownOutcome: 'resubmit' }),
    start('cut', { onUnknownOutcome: 'fail' }),
    start('proved', { unknownOutcomeWait: '10 seconds' }),
    start('refused'),
    start('strange'),
    start('fine', { uploadDeadline: '2 seconds' }, 'no-app-of-this-worker'),
  ]);
  await until('two jobs are parked', async () => {
    const states = await Promise.all([parked, cancelled].map((each) => each.state()));
    return states.every(({ phase }) => phase === 'parked');
  });
  await cancelled.cancel();
  await Promise.allSettled([cancelled, ...ending].map((each) => each.result()));
  ids.push(...[parked, cancelled, ...ending].map(({ workflowId }) => workflowId));
  // Requests of an intruder.
  await fetch(`${stack.serviceUrl}/v1/convert/file`, { method: 'POST' });
  await fetch(`${stack.serviceUrl}/v1/${secretName}`, { method: 'POST' });
  await until('the server has counted the jobs that are left', async () => {
    const worker = await Exposition.scrape(stack.urls.worker);
    return worker.sum('fileconv_jobs') === 1 && worker.sum('fileconv_jobs', { status: 'parked' }) === 1;
  });
  for (const part of ['worker', 'callbacks', 'service'] as const)
    told[part] = await Exposition.scrape(stack.urls[part]);
  await parked.cancel();
});

afterAll(() => stack.close());

describe('the metrics of a worker', () => {
  it('count every finished job by status and code', () => {
    const ended = (status: string, code: string) => told.worker.sum('fileconv_jobs_ended_total', { status, code });
    expect([ended('succeeded', 'none'), ended('cancelled', 'none')]).toEqual([5, 1]);
    expect([ended('skipped', 'none'), ended('failed', 'OUTCOME_UNKNOWN')]).toEqual([0, 1]);
    expect([ended('failed', 'NOT_VALID_EXTENSION'), ended('failed', 'UPLOAD_DEADLINE')]).toEqual([1, 1]);
    expect(told.worker.sum('fileconv_jobs_ended_total')).toBe(10);
  });

  it('report a code that only the service knows as other, so that the number of labels is bounded', () => {
    expect(told.worker.sum('fileconv_jobs_ended_total', { status: 'failed', code: 'other' })).toBe(1);
    const known = [...Object.keys(errorCodes), ...Object.values(failureCodes), 'UNKNOWN_APP', 'none', 'other'];
    for (const { labels } of told.worker.samples) {
      if (labels['code'] !== undefined) expect(known).toContain(labels['code']);
    }
  });

  it.each([
    ['resubmitted', 1],
    ['failed', 1],
    ['resolvedByCallback', 1],
    ['cancelled', 0],
  ])('count %s after an unknown outcome %i times', (decision, times) => {
    expect(told.worker.sum('fileconv_unknown_outcomes_total', { decision })).toBe(times);
  });

  it('report the number of parked jobs, and how many were ever parked', () => {
    expect(told.worker.sum('fileconv_jobs', { app: 'stub', status: 'parked' })).toBe(1);
    expect(told.worker.sum('fileconv_jobs', { app: 'stub', status: 'running' })).toBe(0);
    const parked = (reason: string) => told.worker.sum('fileconv_jobs_parked_total', { reason });
    expect([parked('credits'), parked('account'), parked('room')]).toEqual([2, 0, 0]);
  });

  it('report the time that jobs spent in each finished phase', () => {
    const left = (phase: string) => told.worker.sum('fileconv_job_phase_seconds_count', { phase });
    // All jobs except the one with an unknown app have left this phase; that one stays in it until it fails.
    expect([left('uploading'), left('downloading'), left('parked')]).toEqual([11, 5, 1]);
    expect(told.worker.sum('fileconv_job_phase_seconds_sum', { phase: 'downloading' })).toBeGreaterThan(0);
  });

  it('count requests by endpoint and status', () => {
    const sent = (endpoint: string, status: string) =>
      told.worker.sum('fileconv_requests_total', { app: 'stub', endpoint: `v1/${endpoint}`, status });
    expect([sent('download/url/get', '200'), sent('upload/file', '429')]).toEqual([5, 1]);
    expect([sent('upload/file', '502'), sent('convert/file', 'CONNECTION_LOST')]).toEqual([1, 3]);
    expect(told.worker.sum('fileconv_request_seconds_count', { endpoint: 'v1/upload/file' })).toBe(
      told.worker.sum('fileconv_requests_total', { endpoint: 'v1/upload/file' }),
    );
  });

  it('report the wait for the rate limit, both in the queue and away for the whole RETRY-AFTER', () => {
    const waits = { app: 'stub', class: 'upload' };
    expect(told.worker.sum('fileconv_rate_limit_wait_seconds_sum', { ...waits, where: 'away' })).toBeGreaterThanOrEqual(
      1,
    );
    expect(told.worker.sum('fileconv_rate_limit_wait_seconds_count', { ...waits, where: 'line' })).toBeGreaterThan(0);
  });

  it('count only the bytes of files', () => {
    expect(told.worker.sum('fileconv_transferred_bytes_total', { direction: 'down' })).toBe(5 * 'PK result'.length);
    const uploads = told.worker.sum('fileconv_requests_total', { endpoint: 'v1/upload/file' }) ?? 0;
    expect(told.worker.sum('fileconv_transferred_bytes_total', { direction: 'up' })).toBe(
      uploads * '# A report\n'.length,
    );
  });

  it('count retries, but not waits for the rate limit', () => {
    expect(told.worker.sum('fileconv_retries_total', { app: 'stub', step: 'upload', code: 'other' })).toBe(1);
    expect(told.worker.sum('fileconv_retries_total', { code: 'TOO_MANY_REQUESTS' })).toBeUndefined();
  });

  it('are exactly the declared ones', () => {
    const ours = told.worker.declaredNames().filter((name) => name.startsWith('fileconv_'));
    expect(ours.sort()).toEqual(
      Object.values(workerMetrics)
        .map(({ name }) => name)
        .sort(),
    );
  });
});

it('the metrics of a receiver count callbacks by status, and signals by outcome', () => {
  expect(told.callbacks.sum('fileconv_callbacks_total', { status: '204' })).toBe(1);
  expect(told.callbacks.sum('fileconv_callback_signals_total', { outcome: 'accepted' })).toBe(1);
  expect(told.callbacks.sum('fileconv_callback_signals_total', { outcome: 'refused' })).toBe(0);
  expect(told.callbacks.sum('fileconv_callbacks_in_flight')).toBe(0);
});

it('the metrics of a service count requests by endpoint, and made-up paths as other', () => {
  expect(told.service.sum('fileconv_service_requests_total', { endpoint: 'v1/convert/file', status: '403' })).toBe(1);
  expect(told.service.sum('fileconv_service_requests_total', { endpoint: 'other' })).toBe(1);
  expect(told.service.sum('fileconv_service_conversions_waiting')).toBe(0);
});

it.each(['worker', 'callbacks', 'service'] as const)(
  'a %s with a taken metrics address does not start, and says which key to change',
  async (part) => {
    const cwd = await newFolder();
    const { host } = new URL(stack.urls[part]);
    const variable = `FILECONV_${part.toUpperCase()}_METRICS_ADDRESS`;
    const env = { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_SERVICE_PORT: '0', FILECONV_CALLBACKS_PORT: '0' };
    const { code, stderr } = await fileconv([part], { cwd, env: { ...env, [variable]: host } });
    expect(code).toBe(1);
    expect(stderr).toContain(host);
    expect(stderr).toContain(`(${variable})`);
    expect(stderr).not.toContain('    at ');
  },
);

it('no metric contains a file name, an id, a token or a key', () => {
  const secrets = [
    secretName,
    'report',
    stubToken,
    stubAppId,
    callbackKey,
    'no-app-of-this-worker',
    'CODE_OF_THIS',
    ...ids,
  ];
  for (const { text } of Object.values(told)) {
    for (const secret of secrets) expect(text).not.toContain(secret);
    // No id of a workflow, a run or a task, except in the name of this test's task queue.
    expect(text.replaceAll(/metered-[0-9a-f-]{36}/g, '')).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  }
});

describe('docs/operations', () => {
  let samples: Sample[];
  let declared: string[];
  let queries: Query[];

  beforeAll(async () => {
    queries = [...(await readAlerts()), ...(await readDashboard())];
    samples = Object.values(told).flatMap((each) => each.samples);
    declared = Object.values(told).flatMap((each) => each.declaredNames());
  });

  it('every query of the alerts and the dashboard can be parsed', () => {
    expect(queries.length).toBeGreaterThan(30);
    expect(queries.filter(({ expr }) => read(expr).isBroken)).toEqual([]);
  });

  it('every metric in a query exists, with the labels in the query', () => {
    const wrong = queries.flatMap(({ where, expr }) => {
      const { metrics, groupedBy } = read(expr);
      const missing = metrics.flatMap(({ name, labels }) => {
        const found = samples.filter((sample) => sample.name === name);
        if (found.length === 0) return [`${where}: nobody tells ${name}`];
        const known = new Set(found.flatMap((sample) => Object.keys(sample.labels)));
        return [...labels, ...groupedBy]
          .filter((label) => !known.has(label))
          .map((label) => `${where}: ${name} has no label ${label}`);
      });
      return metrics.length === 0 ? [`${where}: no metric`] : missing;
    });
    expect(wrong).toEqual([]);
  });

  it('the page explains every metric of ours, and no unknown one', async () => {
    const page = await readFile(path.join(folder, 'metrics.md'), 'utf8');
    const explained = [...page.matchAll(/`((?:fileconv|temporal)_[a-z_]+)`/g)].map(([, name = '']) => name);
    const ours = declared.filter((name) => name.startsWith('fileconv_'));
    expect(ours.filter((name) => !explained.includes(name))).toEqual([]);
    expect(explained.filter((name) => !declared.includes(name))).toEqual([]);
  });

  it('every metric of ours is on the dashboard', () => {
    const shown = queries
      .filter(({ where }) => where.startsWith('dashboard'))
      .flatMap(({ expr }) => read(expr).metrics);
    const names = new Set(shown.map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
    expect(declared.filter((name) => name.startsWith('fileconv_') && !names.has(name))).toEqual([]);
  });
});

async function readAlerts(): Promise<Query[]> {
  const { groups } = alertsSchema.parse(parse(await readFile(path.join(folder, 'alerts.yml'), 'utf8')));
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })));
}

async function readDashboard(): Promise<Query[]> {
  const json: unknown = JSON.parse(await readFile(path.join(folder, 'grafana-dashboard.json'), 'utf8'));
  return dashboardSchema.parse(json).panels.flatMap(({ title, targets = [] }) =>
    // Grafana inserts the range.
    targets.map(({ expr }) => ({ where: `dashboard ${title}`, expr: expr.replaceAll('$__rate_interval', '5m') })),
  );
}

function read(expr: string): Asked {
  const asked: Asked = { metrics: [], groupedBy: [], isBroken: false };
  const text = (node: { from: number; to: number }) => expr.slice(node.from, node.to);
  parser.parse(expr).iterate({
    enter({ type, node }) {
      if (type.isError) asked.isBroken = true;
      if (type.name === 'VectorSelector') {
        const name = node.getChild('Identifier');
        const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
        const labels = matchers.flatMap((matcher) => matcher.getChildren('LabelName').map(text));
        asked.metrics.push({ name: name ? text(name) : '', labels });
      }
      if (type.name === 'GroupingLabels') asked.groupedBy.push(...node.getChildren('LabelName').map(text));
    },
  });
  return asked;
}
