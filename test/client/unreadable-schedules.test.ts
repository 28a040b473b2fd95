import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NoSuchScheduleError, SweepSchedules } from '../../src/client/sweep-schedules';
import { createEncryptedDataConverter } from '../../src/encryption/data-converter';
import { rigOfAllTests } from '../support/conversion-worker';
import { newNamespace } from '../support/namespace';
import { until } from '../support/until';

const rig = rigOfAllTests();

it('schedules whose keys are lost can be listed beside the others, paused and deleted', async () => {
  const namespace = await newNamespace(rig.temporal);
  const withKeys = () => {
    const dataConverter = createEncryptedDataConverter(`${randomUUID()}:${randomBytes(32).toString('base64')}`);
    const client = new Client({ connection: rig.temporal.connection, namespace, dataConverter });
    return new SweepSchedules({ client, taskQueue: rig.taskQueue });
  };
  const folders = { from: '/srv/in/', to: 'pdf', out: '/srv/out/', batchFolder: '/srv/runs/' };
  await withKeys().create({ name: 'lost', ...folders, times: { everyMs: 3_600_000 } });
  const schedules = withKeys();
  await schedules.create({ name: 'own', ...folders, times: { everyMs: 3_600_000 } });
  const listed = async () => (await schedules.list()).map(({ name, work, isPaused }) => [name, work?.to, isPaused]);
  await until('both are listed', async () => (await listed()).length === 2);
  expect(await listed()).toEqual([
    ['lost', undefined, false],
    ['own', 'pdf', false],
  ]);
  await schedules.pause('lost');
  await until('it is paused', async () => (await schedules.describe('lost')).state.paused);
  await schedules.delete('lost');
  await expect(schedules.pause('lost')).rejects.toThrow(NoSuchScheduleError);
});
