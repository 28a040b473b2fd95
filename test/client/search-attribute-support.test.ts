import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { listJobs } from '../../src/client/operations/list-jobs';
import { presentSearchAttributes } from '../../src/client/operations/search-attributes';
import { searchAttributeNames, searchAttributes, settableAttributes } from '../../src/shared/search-attributes';
import { quickPolicies, startRig } from '../support/conversion-worker';
import { newNamespace } from '../support/namespace';
import { answerCompleted } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal } from '../support/temporal-proxy';
import { until } from '../support/until';

/** `temporal.api.enums.v1.IndexedValueType` of a keyword. */
const keyword = 2;

let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  connection = await Connection.connect({ address: testTemporalAddress() });
  temporal = new Client({ connection });
});

afterAll(() => connection.close());

it('a job is listed by the attributes that its namespace has, and ends well although others are missing there', async () => {
  const namespace = await newNamespace(temporal);
  const client = new Client({ connection, namespace });
  const present = searchAttributeNames.filter((name) => name !== 'ConversionVCredits');
  const types = Object.fromEntries(present.map((name) => [name, keyword]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: types });
  await until('they are there', async () => (await presentSearchAttributes(client)).size === present.length);
  const rig = await startRig({ app: 'seven', temporal: { address: testTemporalAddress(), namespace } });
  try {
    rig.stub.on('task/response', (seen, response) =>
      answerCompleted(response, String(seen.data['connector']), { vcredits: 7 }),
    );
    const source = await rig.source('report.md');
    const destination = path.join(rig.folder, 'report.pdf');
    const request = { source, output: 'pdf', destination, policies: quickPolicies };
    const job = await rig.client.start(request);
    await expect(job.result()).resolves.toMatchObject({ status: 'succeeded', vcredits: 7 });
    const { typedSearchAttributes: attributes } = await job.describe();
    expect(attributes.get(searchAttributes.app)).toBe('seven');
    expect(attributes.get(searchAttributes.status)).toBe('completed');
    expect(attributes.get(searchAttributes.taskId)).toBeDefined();
    await until('it is listed', async () => (await listJobs(client, { app: 'seven' }, 10)).total === 1);
  } finally {
    await rig.close();
  }
});

it('a question that the server does not answer says nothing of the namespace: jobs are listed, and it is asked again', async () => {
  const refused: Record<string, Refusal> = { CountWorkflowExecutions: { status: 13, message: 'visibility is away' } };
  const proxy = await startTemporalProxy(testTemporalAddress(), refused);
  const proxied = await Connection.connect({ address: proxy.address });
  try {
    const client = new Client({ connection: proxied });
    const conversions = new FileConversionClient({ client, taskQueue: 'nobody-polls', app: 'asked-again' });
    await expect(presentSearchAttributes(client)).rejects.toThrow();
    const request = { source: '/nowhere/report.md', output: 'pdf' };
    const job = await conversions.start(request);
    expect((await job.describe()).typedSearchAttributes.get(searchAttributes.app)).toBe('asked-again');
    await temporal.workflow.getHandle(job.workflowId).terminate();
    delete refused['CountWorkflowExecutions'];
    expect((await presentSearchAttributes(client)).size).toBe(searchAttributeNames.length);
  } finally {
    await proxied.close();
    await proxy.close();
  }
});

describe('what a workflow may set', () => {
  const listed = new TypedSearchAttributes([{ key: searchAttributes.app, value: 'invoices' }]);

  it('is what 0.1 knew, when it was started without a list: a namespace of then may not have what came later', () => {
    expect([...settableAttributes({ typedSearchAttributes: listed })].sort()).toEqual([
      'ConversionApp',
      'ConversionBatchId',
      'ConversionErrorCode',
      'ConversionInputFormat',
      'ConversionOutputFormat',
      'ConversionStatus',
      'ConversionTaskId',
      'ConversionVCredits',
    ]);
  });

  it('is nothing, when it was started without an attribute, and what its memo names, when it has one', () => {
    const unlisted = new TypedSearchAttributes();
    expect(settableAttributes({ typedSearchAttributes: unlisted }).size).toBe(0);
    const memo = { conversionListedBy: ['ConversionStatus'] };
    expect([...settableAttributes({ memo, typedSearchAttributes: unlisted })]).toEqual(['ConversionStatus']);
  });
});
