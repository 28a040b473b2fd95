import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { listJobs } from '../../src/client/operations/list-jobs';
import { createEncryptedDataConverter } from '../../src/encryption/data-converter';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** Jobs whose keys are lost, or that were started by a program with its own codec, as seen by others. */

const tag = randomUUID();
const opened: ConversionRig[] = [];

async function rigWithKeys(): Promise<ConversionRig> {
  const dataConverter = createEncryptedDataConverter(`${randomUUID()}:${randomBytes(32).toString('base64')}`);
  const rig = await startRig({ temporal: { address: testTemporalAddress(), namespace: 'default', dataConverter } });
  opened.push(rig);
  return rig;
}

/** A single job, and one of a batch, which has a memo. */
async function convertBoth(
  rig: ConversionRig,
  onUnknownOutcome: 'resubmit' | 'fail',
  [single, ofBatch]: [string, string],
) {
  const options = { output: 'pdf', onExisting: 'overwrite', policies: { ...quickPolicies, onUnknownOutcome } } as const;
  const job = rig.client.convert({ source, destination: single, ...options }, { tags: [tag] });
  const { output, ...ofItems } = options;
  const request = { name: `batch-${randomUUID()}`, items: [{ source, output, destination: ofBatch }], ...ofItems };
  const batch = await rig.client.startBatch(request, { tags: [tag] });
  return Promise.all([job.catch((error: unknown) => error as Error), batch.result()]);
}

let source: string;
let names: [string, string];

beforeAll(async () => {
  const lost = await rigWithKeys();
  source = await lost.source('report.md');
  names = [path.join(lost.folder, 'one.pdf'), path.join(lost.folder, 'other.pdf')];
  await convertBoth(lost, 'resubmit', names);
});
afterAll(() => Promise.all(opened.map((rig) => rig.close())));

it("a job that can't be read is listed by what is not encrypted, beside the others", async () => {
  const rig = await rigWithKeys();
  const list = () => listJobs(rig.temporal, { tag }, 10);
  const query = `ConversionTags = '${tag}' AND WorkflowType = 'conversionJob'`;
  const isListed = async (jobs: number) => (await rig.temporal.workflow.count(query)).count === jobs;
  await until('both are listed', () => isListed(2));
  // With foreign keys only, there is nothing to list.
  await expect(list()).rejects.toThrow('is not among the keys here');
  const { workflowId } = await rig.client.start({ source, output: 'pdf' }, { tags: [tag], startDelay: '1 hour' });
  await until('it is listed', () => isListed(3));
  const { jobs, total, unreadable } = await list();
  expect(total).toBe(3);
  expect(jobs.map(({ summary }) => summary)).toEqual(['report.md → pdf', 'md → pdf', 'md → pdf']);
  expect(unreadable).toMatch(/^This payload was encrypted with the key .*, which is not among the keys here/);
  await rig.temporal.workflow.getHandle(workflowId).terminate();
});

it("a destination whose last job can't be read is converted again if the policy allows it, and marked", async () => {
  const rig = await rigWithKeys();
  const [kept, ofBatch] = await convertBoth(rig, 'fail', [names[1], names[0]]);
  expect(kept).toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringMatching(/may have been charged.* --resubmit$/) as string,
  });
  expect(ofBatch).toMatchObject({ failed: 1, failures: { OUTCOME_UNKNOWN: 1 } });
  expect(rig.stub.requests.filter(({ path: at }) => at.includes('convert'))).toEqual([]);
  const [again, batch] = await convertBoth(await rigWithKeys(), 'resubmit', names);
  expect(again).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
  expect(batch).toMatchObject({ succeeded: 1, possiblyChargedTwice: 1 });
});
