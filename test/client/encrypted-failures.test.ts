import { Client, Connection, type WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import { createEncryptedDataConverter } from '../../src/encryption';
import { describeWorkflow } from '../../src/history/find-workflow';

const key = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;

const clientWith = (id: string) =>
  new Client({ connection: Connection.lazy(), dataConverter: createEncryptedDataConverter(key(id)) });

/** The failed step of a job, as seen by a client with the key `reader`. */
async function stepFor(reader: string) {
  const { failureConverter, payloadConverter, payloadCodecs } = clientWith('new').options.loadedDataConverter;
  const error = ApplicationFailure.create({ message: 'letters.md: HTTP 502', type: 'UNREADABLE_RESPONSE' });
  const failure = failureConverter.errorToFailure(error, payloadConverter);
  const [encodedAttributes = null] = (await payloadCodecs[0]?.encode([failure.encodedAttributes ?? {}])) ?? [];
  const activity = { activityType: { name: 'conversion.uploadFile' }, lastFailure: { ...failure, encodedAttributes } };
  expect(JSON.stringify(activity)).not.toContain('letters');
  const raw = { pendingActivities: [activity] };
  const { workflow: client } = clientWith(reader);
  return readPendingStep(
    await describeWorkflow({ client, describe: () => Promise.resolve({ raw } as WorkflowExecutionDescription) }),
  );
}

it('a client with the key sees the message of an encrypted failure', async () => {
  const lastFailure = 'letters.md: HTTP 502';
  expect(await stepFor('new')).toMatchObject({ lastFailure, lastFailureType: 'UNREADABLE_RESPONSE' });
});

it('other clients see which key they lack', async () => {
  const { lastFailure } = (await stepFor('old')) ?? {};
  expect(lastFailure).toContain('encrypted with the key new, which is not among the keys here (old)');
});
