import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createEncryptedDataConverter } from '../../src/encryption/data-converter';
import type { ConversionBatchInput } from '../../src/batch/model/types';
import { conversionBatchType } from '../../src/job/names';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { testTemporalAddress } from '../support/temporal';

/** Ids of the jobs of a batch that is started by its workflow type, without an option for names. */

let rig: ConversionRig;
let input: Record<'items' | 'plan', Partial<ConversionBatchInput>>;

async function open(isEncrypted: boolean): Promise<void> {
  const dataConverter = createEncryptedDataConverter(`k1:${randomBytes(32).toString('base64')}`);
  rig = await startRig({
    temporal: { address: testTemporalAddress(), namespace: 'default', ...(isEncrypted && { dataConverter }) },
  });
  const source = pathToFileURL(await rig.source('report.md')).href;
  const folder = pathToFileURL(rig.folder).href;
  input = {
    items: { items: [{ source, output: 'pdf', destination: `${folder}/out/items.pdf` }] },
    plan: {
      plan: {
        ...{ folder: `${folder}/runs/`, cwd: `${folder}/`, out: `${folder}/out/` },
        what: { sources: [source], recursive: false, to: 'pdf' },
      },
    },
  };
}

afterEach(() => rig.close());

it.each([
  ['without names where payloads are encrypted', true, /^[0-9a-f]{16}$/],
  ['with names where they are not', false, /^out\/(items|report)\.pdf-[0-9a-f]{16}$/],
])('are %s', async (_how, isEncrypted, expected) => {
  await open(isEncrypted);
  for (const kind of ['items', 'plan'] as const) {
    const workflowId = `${path.basename(rig.folder)}-${randomUUID()}`;
    const handle = await rig.temporal.workflow.start(conversionBatchType, {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ app: rig.app, policies: quickPolicies, historyLimit: 5, ...input[kind] }],
    });
    expect(await handle.result()).toMatchObject({ status: 'completed', succeeded: 1 });
    const { events } = await rig.temporal.workflow
      .getHandle(workflowId, handle.firstExecutionRunId, { followRuns: false })
      .fetchHistory();
    const ids = events?.flatMap((event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? []);
    expect(ids).toEqual([expect.stringMatching(expected)]);
  }
});
