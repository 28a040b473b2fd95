import { PutObjectCommand } from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3';
import { MemoryFiles } from '../support/memory-files';
import { s3ServerOfAllTests } from '../support/s3-server';
import { answerError } from '../support/stub-service';
import { counts, sweepsOfEachTest } from '../support/sweeping';

const server = s3ServerOfAllTests();
const { rig, schedule, sweep } = sweepsOfEachTest({
  stores: { s3: () => createS3Files({ client: server.client }), memory: new MemoryFiles() },
});

/** The keys of a bucket but for those of runs. */
async function keysOf(bucket: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { relative } of createS3Files({ client: server.client }).walk(`s3://${bucket}/`)) {
    if (!relative.startsWith('runs/')) keys.push(relative);
  }
  return keys;
}

it('what is converted in a bucket moves to its place in the bucket, and what has failed lies beside its reason', async () => {
  const Bucket = await server.newBucket();
  const put = (Key: string, Body: string) => server.client.send(new PutObjectCommand({ Bucket, Key, Body }));
  rig.stub.on('convert/file', (seen, response, stub) => {
    if (stub.fileOf(seen) === 'bad.md') answerError(response, 200, 'FAILED_CONVERT');
    else stub.answerAsAlways(seen, response);
  });
  const at = (folder: string) => `s3://${Bucket}/${folder}/`;
  const name = await schedule({
    ...{ recursive: true, from: at('in'), out: at('out'), batchFolder: at('runs') },
    ...{ moveDoneTo: at('in/done'), moveFailedTo: at('failed') },
  });
  await put('in/ä b.md', '# A');
  await put('in/deep/bad.md', 'damaged');
  expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, failed: 1 });
  const failed = ['failed/deep/bad.md', 'failed/deep/bad.md.reason.txt'];
  expect(await keysOf(Bucket)).toEqual([...failed, 'in/done/ä b.md', 'out/ä b.pdf']);
  expect(await sweep(name)).toMatchObject({ ...counts });
  expect(rig.stub.conversions.size).toBe(1);
});

it('a sweep whose store moves no files fails before it converts any, and says what to do', async () => {
  const at = (folder: string) => `memory:///${folder}/`;
  const name = await schedule({
    ...{ from: at('in'), out: at('out'), batchFolder: at('runs'), moveDoneTo: at('done') },
  });
  const problem = expect.stringMatching(
    /^Files can't be moved from .*in\/ to .*done\/: .*Make the schedule again/,
  ) as unknown;
  await expect(sweep(name)).rejects.toMatchObject({ cause: { message: problem } });
  expect(rig.stub.requests).toHaveLength(0);
});
