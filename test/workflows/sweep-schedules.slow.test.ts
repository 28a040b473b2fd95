import { randomUUID } from 'node:crypto';
import { NoSuchScheduleError, ScheduleTakenError } from '../../src/client/sweep-schedules';
import { counts, sweepsOfEachTest } from '../support/sweeping';
import { until } from '../support/until';

const { rig, schedules, schedule, put, sweepsOf, sweep, resultOf } = sweepsOfEachTest();

describe('a schedule of sweeps', () => {
  it('skips a sweep that is due while another one is running', async () => {
    await put('a.md', '# A\n');
    const name = await schedule();
    const hold = rig.stub.hold();
    const first = sweep(name);
    await until('it converts', () => rig.stub.count('task/response') > 0);
    await schedules().trigger(name);
    await until('it was left out', async () => {
      return (await schedules().describe(name)).info.numActionsSkippedOverlap === 1;
    });
    hold.letGo();
    expect(await first).toMatchObject({ succeeded: 1 });
    expect(await sweepsOf(name)).toHaveLength(1);
  });

  it('with overlap cancel, cancels the running sweep and its batch, and the next sweep continues', async () => {
    await put('a.md', '# A\n');
    const name = await schedule({ overlap: 'cancel' });
    const hold = rig.stub.hold();
    const first = sweep(name);
    await until('it converts', () => rig.stub.count('task/response') > 0);
    await schedules().trigger(name);
    expect(await first).toMatchObject({ status: 'cancelled', ...counts, cancelled: 1 });
    hold.letGo();
    await until('the next has begun', async () => (await sweepsOf(name)).length === 2);
    expect(await resultOf((await sweepsOf(name)).at(-1))).toMatchObject({ succeeded: 1 });
  });

  it('is listed with what it does, is paused with a reason, resumed, and deleted', async () => {
    const name = await schedule({ times: { cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin' } });
    const find = async () => (await schedules().list()).find((each) => each.name === name);
    await until('it is listed', async () => (await find()) !== undefined);
    expect((await find())?.work).toMatchObject({ cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin', to: 'pdf' });
    await schedules().pause(name, 'month end');
    expect((await schedules().describe(name)).state).toMatchObject({ paused: true, note: 'month end' });
    await schedules().resume(name);
    expect((await schedules().describe(name)).state.paused).toBe(false);
    await expect(schedule({ name })).rejects.toBeInstanceOf(ScheduleTakenError);
    await schedules().delete(name);
    await expect(schedules().describe(name)).rejects.toBeInstanceOf(NoSuchScheduleError);
  });

  it.each([
    { times: { cron: '61 * * * *' } },
    { times: { cron: 'every hour' } },
    { times: { cron: '0 6 * * *', timeZone: 'Nowhere/Land' } },
    { times: { everyMs: 500 } },
    { settledForMs: 0 },
    { window: 0 },
    { name: 'a/b' },
  ])('rejects %j', async (change) => {
    await expect(schedule(change)).rejects.toThrow(/can't be (made|started)\. (times|settledForMs|window|name)/);
  });

  it('does not touch a schedule of the same name that does something else', async () => {
    const name = `other-${randomUUID()}`;
    await rig.temporal.schedule.create({
      scheduleId: name,
      spec: { intervals: [{ every: '365 days' }] },
      action: { type: 'startWorkflow', workflowType: 'report', taskQueue: rig.taskQueue },
    });
    await expect(schedules().delete(name)).rejects.toBeInstanceOf(NoSuchScheduleError);
    await rig.temporal.schedule.getHandle(name).delete();
  });
});
