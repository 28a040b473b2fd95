import { testClient } from '../../../../test/support/temporal';

describe('the Temporal server of a test run', () => {
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
