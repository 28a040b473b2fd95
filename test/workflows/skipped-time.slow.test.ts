import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { BatchActivities, ConversionActivities } from '../../src/workflows';
import { installQuietRuntime } from '../support/conversion-worker';
import { obtainTestServer } from '../support/test-server';

/** The recipe in docs/embedding/README.md for testing a workflow that converts. */

const report = { taskId: 'task-1', connector: 'task-1', finished: true, warnings: {} };
const conversions: Partial<ConversionActivities & BatchActivities> = {
  'conversion.workerSettings': () => Promise.resolve({}),
  'conversion.uploadFile': () => Promise.resolve({ skipped: false, connector: 'upload-1', bytes: 1, requests: 1 }),
  'conversion.convertFile': () => Promise.resolve({ skipped: false, report, requests: 1 }),
  'conversion.downloadFile': ({ destination }) =>
    Promise.resolve({
      skipped: false,
      file: { uri: destination, name: 'report.pdf', bytes: 1, sha256: '00' },
      requests: 2,
    }),
};

it("a user's workflow with fake activities skips a sleep of months, and then converts", async () => {
  installQuietRuntime();
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await obtainTestServer() } },
  });
  try {
    const { nativeConnection: connection, client } = environment;
    const workflowsPath = require.resolve('../support/own-workflows');
    const worker = await Worker.create({ connection, taskQueue: 'test', workflowsPath, activities: conversions });
    const job = { app: 'a', source: { uri: 'file:///report.md' }, output: 'pdf', destination: 'file:///archive/' };
    const before = await environment.currentTimeMs();
    const result: unknown = await worker.runUntil(
      client.workflow.execute('convertLater', { workflowId: 'test', taskQueue: 'test', args: ['90 days', job] }),
    );
    expect(result).toMatchObject({ status: 'succeeded', output: { name: 'report.pdf' }, requests: 4 });
    expect((await environment.currentTimeMs()) - before).toBeGreaterThan(89 * 86_400_000);
  } finally {
    await environment.teardown();
  }
});
