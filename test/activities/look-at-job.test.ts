import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { lookAtJob } from '../../src/activities/look-at-job';
import { toJobInput } from '../../src/client/job-request';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { answerRunning } from '../support/stub-service';
import { until } from '../support/until';

const rig = rigOfAllTests();

it('reports whether a job runs and matches the expected one, and how an awaited one has ended', async () => {
  rig.stub.on('task/response', (seen, response) => answerRunning(response, seen.connector));
  const source = await rig.source('a.md', 'one');
  const request = { source, output: 'pdf', destination: path.join(rig.folder, 'a.pdf'), policies: quickPolicies };
  const job = await rig.client.start(request);
  const { workflowId } = job;
  const expected = toJobInput(request, 'stub');
  const uri = 'uri' in expected.source ? expected.source.uri : '';
  const look = (asked: typeof expected, signal?: AbortSignal) =>
    lookAtJob(
      { client: rig.temporal, files: createLocalFiles(), ...(signal && { signal }) },
      { workflowId, expected: asked },
    );
  expect((await look(expected)).existing).toEqual({ isOpen: true, isSame: true, source: uri });
  expect((await look({ ...expected, output: 'html' })).existing).toMatchObject({ isOpen: true, isSame: false });
  expect(await lookAtJob({ client: rig.temporal, files: createLocalFiles() }, { workflowId })).not.toHaveProperty(
    'outcome',
  );
  await until('it converts', async () => (await job.state()).phase === 'converting');
  await writeFile(source, 'two');
  expect((await look(expected)).existing).toMatchObject({ isSame: true, isChanged: true });
  await expect(look(expected, AbortSignal.abort())).rejects.toThrow('abort');
  rig.stub.asAlways('task/response');
  await job.result();
  expect((await look(expected)).existing).toMatchObject({ isOpen: false, isSame: true });
  expect(await lookAtJob({ client: rig.temporal, files: createLocalFiles() }, { workflowId })).toMatchObject({
    outcome: { status: 'succeeded' },
  });
  expect(await lookAtJob({ client: rig.temporal, files: createLocalFiles() }, { workflowId: 'none' })).toEqual({});
});
