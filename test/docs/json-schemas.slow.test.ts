import { spawnSync } from 'node:child_process';
import path from 'node:path';
import Ajv from 'ajv/dist/2020';
import { z } from 'zod';
import { listHistories, readHistory } from '../workflows/histories';
import { root, textOf } from './pages';

/** docs/embedding/schemas.json, which programs in other languages rely on. */

it('docs/embedding/schemas.json matches the types', () => {
  const script = path.join(root, 'scripts/json-schemas.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

const ajv = new Ajv();
ajv.addSchema(JSON.parse(textOf('docs/embedding/schemas.json')) as object, 'schemas');

/** The errors of a value, checked against the schema of its type. */
function problemsOf(type: string, value: unknown): string[] {
  const check = ajv.getSchema(`schemas#/$defs/${type}`);
  if (!check) throw new Error(`no type ${type}`);
  return check(value)
    ? []
    : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
}

const payloadSchema = z.looseObject({ data: z.string() });
const payloads = z.looseObject({ payloads: z.array(payloadSchema).min(1) });
const started = z.looseObject({ workflowType: z.looseObject({ name: z.string() }), input: payloads });
const completed = z.looseObject({ result: payloads });
const failed = z.looseObject({
  failure: z.looseObject({ applicationFailureInfo: z.looseObject({ type: z.string(), details: payloads }) }),
});

const valueIn = ({ payloads: [first] }: z.infer<typeof payloads>) =>
  JSON.parse(Buffer.from(first?.data ?? '', 'base64').toString()) as unknown;

const typesOf: Readonly<Record<string, { input: string; result: string }>> = {
  conversionJob: { input: 'ConversionJobInput', result: 'ConversionJobResult' },
  conversionBatch: { input: 'ConversionBatchInput', result: 'ConversionBatchResult' },
};

/** Input, result and failure details of a recorded workflow, each with its expected type. */
function exchanged(name: string): { type: string; value: unknown }[] {
  const { events } = readHistory(name);
  const first = started.parse(events[0]?.['workflowExecutionStartedEventAttributes']);
  const types = typesOf[first.workflowType.name];
  if (!types) return [];
  const last = events.at(-1);
  const success = completed.safeParse(last?.['workflowExecutionCompletedEventAttributes']).data;
  const failure = failed.safeParse(last?.['workflowExecutionFailedEventAttributes']).data?.failure;
  return [
    { type: types.input, value: valueIn(first.input) },
    ...(success ? [{ type: types.result, value: valueIn(success.result) }] : []),
    ...(failure ? [{ type: 'ConversionFailureDetails', value: valueIn(failure.applicationFailureInfo.details) }] : []),
  ];
}

it('describes the input, the result and the failure of every recorded job and batch', () => {
  const all = listHistories().flatMap(exchanged);
  expect(new Set(all.map(({ type }) => type)).size).toBe(5);
  expect(all.map(({ type, value }) => problemsOf(type, value)).filter((problems) => problems.length > 0)).toEqual([]);
});

const job = { app: 'a', source: { uri: 'file:///a.md' }, output: 'pdf' };

it.each([
  ['ConversionJobInput', { ...job, source: { connector: 'c' }, policies: { submitTimeout: '2 minutes' } }],
  ['ConvertInput', { ...job, key: 'k', onExisting: 'skip' }],
  [
    'ConvertBatchInput',
    { app: 'a', name: 'b', sources: ['s3://in/'], to: 'pdf', out: 's3://out/', stopAfter: { percent: 5 } },
  ],
  ['StateInput', { app: 'a', key: 'k' }],
  ['AppReadyInput', { app: 'a' }],
])('accepts as %s what the service accepts: %j', (type, value) => expect(problemsOf(type, value)).toEqual([]));

it.each([
  ['ConversionJobInput', { ...job, output: undefined }],
  ['ConversionJobInput', { ...job, destinatoin: 'file:///a.pdf' }],
  ['ConversionJobInput', { ...job, onExisting: 'replace' }],
  ['ConversionJobInput', { ...job, policies: { submitTimeot: 1 } }],
  ['ConvertInput', job],
  ['StateInput', { key: 'k' }],
  ['ConversionJobResult', { status: 'failed' }],
])('rejects as %s: %j', (type, value) => expect(problemsOf(type, JSON.parse(JSON.stringify(value)))).not.toEqual([]));
