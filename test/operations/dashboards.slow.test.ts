import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { z } from 'zod';
import { Exposition, type Sample } from './exposition';
import { startMeteredStack, type MeteredStack } from './metered-stack';

/** What docs/operations/ says of metrics, held against the endpoints of real processes. */

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

/** A query, and where it stands. */
interface Query {
  where: string;
  expr: string;
}

/** What a query asks for. */
interface Asked {
  /** Metrics with the labels that are matched. */
  metrics: { name: string; labels: string[] }[];
  groupedBy: string[];
  isBroken: boolean;
}

let stack: MeteredStack;
let samples: Sample[];
let declared: string[];
let queries: Query[];

beforeAll(async () => {
  queries = [...(await readAlerts()), ...(await readDashboard())];
  stack = await startMeteredStack();
  await Promise.allSettled(
    [await stack.start('fine'), await stack.start('flaky'), await stack.start('proved')].map((each) => each.result()),
  );
  await fetch(`${stack.serviceUrl}/v1/convert/file`, { method: 'POST' });
  const told = await Promise.all(Object.values(stack.urls).map((url) => Exposition.scrape(url)));
  samples = told.flatMap((each) => each.samples);
  declared = told.flatMap((each) => each.declaredNames());
});

afterAll(() => stack.close());

it('every query of the alerts and of the dashboard can be read', () => {
  expect(queries.length).toBeGreaterThan(30);
  expect(queries.filter(({ expr }) => read(expr).isBroken)).toEqual([]);
});

it('every metric in a query is told by a process, with the labels that the query names', () => {
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

it('every metric of ours is explained, and nothing else', async () => {
  const page = await readFile(path.join(folder, 'metrics.md'), 'utf8');
  const explained = [...page.matchAll(/`((?:fileconv|temporal)_[a-z_]+)`/g)].map(([, name = '']) => name);
  const ours = declared.filter((name) => name.startsWith('fileconv_'));
  expect(ours.filter((name) => !explained.includes(name))).toEqual([]);
  expect(explained.filter((name) => !declared.includes(name))).toEqual([]);
});

it('every metric of ours is on the dashboard', () => {
  const shown = queries.filter(({ where }) => where.startsWith('dashboard')).flatMap(({ expr }) => read(expr).metrics);
  const names = new Set(shown.map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
  expect(declared.filter((name) => name.startsWith('fileconv_') && !names.has(name))).toEqual([]);
});

async function readAlerts(): Promise<Query[]> {
  const { groups } = alertsSchema.parse(parse(await readFile(path.join(folder, 'alerts.yml'), 'utf8')));
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })));
}

async function readDashboard(): Promise<Query[]> {
  const json: unknown = JSON.parse(await readFile(path.join(folder, 'grafana-dashboard.json'), 'utf8'));
  return dashboardSchema.parse(json).panels.flatMap(({ title, targets = [] }) =>
    // Grafana puts the range in.
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
