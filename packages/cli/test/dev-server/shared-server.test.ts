import { readRetentionDays } from '../../src/dev-server/retention';
import { testClient } from '../../../../test/support/temporal';

it("the Temporal server of a test run keeps closed workflows for 30 days instead of Temporal's default of one", async () => {
  const { workflowService, connection } = await testClient();
  try {
    expect(await readRetentionDays({ workflowService, namespace: 'default' })).toBe(30);
  } finally {
    await connection.close();
  }
});
