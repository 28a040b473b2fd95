import { Client, Connection } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { hasSearchAttributes } from '../../src/client/operations/search-attributes';
import { searchAttributes } from '../../src/job/search-attributes';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal } from '../support/temporal-proxy';

let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  connection = await Connection.connect({ address: testTemporalAddress() });
  temporal = new Client({ connection });
});

afterAll(() => connection.close());

it('if the server does not say which attributes the namespace has, jobs are listed, and it is asked again', async () => {
  const refused: Record<string, Refusal> = { CountWorkflowExecutions: { status: 13, message: 'visibility is away' } };
  const proxy = await startTemporalProxy(testTemporalAddress(), refused);
  const proxied = await Connection.connect({ address: proxy.address });
  try {
    const client = new Client({ connection: proxied });
    const conversions = new FileConversionClient({ client, taskQueue: 'nobody-polls', app: 'asked-again' });
    await expect(hasSearchAttributes(client)).rejects.toThrow();
    const job = await conversions.start({ source: '/nowhere/report.md', output: 'pdf' });
    expect((await job.describe()).typedSearchAttributes.get(searchAttributes.app)).toBe('asked-again');
    await temporal.workflow.getHandle(job.workflowId).terminate();
    delete refused['CountWorkflowExecutions'];
    expect(await hasSearchAttributes(client)).toBe(true);
  } finally {
    await proxied.close();
    await proxy.close();
  }
});
