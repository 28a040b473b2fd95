import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { presentSearchAttributes } from '../../src/client/operations/search-attributes';
import { searchAttributeNames, searchAttributes } from '../../src/shared/search-attributes';
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

it('a job ends well, and is not listed, in a namespace that lacks one of the attributes', async () => {
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
    expect(attributes.get(searchAttributes.app)).toBeUndefined();
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
