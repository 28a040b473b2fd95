import { readRetentionDays } from '../../src/dev-server/retention';
import { testClient } from '../../../../test/support/temporal';

describe('the Temporal server of a test run', () => {
  it('keeps closed workflows for 30 days, where Temporal would for one', async () => {
    const { workflowService, connection } = await testClient();
    try {
      expect(await readRetentionDays({ workflowService, namespace: 'default' })).toBe(30);
    } finally {
      await connection.close();
    }
  });

  it('answers and knows the search attributes of conversion jobs', async () => {
    const client = await testClient();
    try {
      const { customAttributes } = await client.connection.operatorService.listSearchAttributes({
        namespace: 'default',
      });
      expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(['ConversionStatus', 'ConversionVCredits']));
    } finally {
      await client.connection.close();
    }
  });
});
