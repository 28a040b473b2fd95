import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../test/support/until';
import { fileconv, newFolder } from './fileconv';
import { envOfRig, rigOfCommandsOfAllTests } from './running-stack';

/** Two batches, a command, a schedule and a program all ask for the same result. */

const rig = rigOfCommandsOfAllTests();

const rounds = 10;
const files = ['a', 'b', 'c'];

it('concurrent requests, ten times: one conversion per destination, and everybody gets the result', async () => {
  const cwd = await newFolder();
  const env = envOfRig(rig);
  const command = (...args: string[]) => fileconv(args, { cwd, env });
  const source = (name: string) => path.join(cwd, 'in', `${name}.md`);
  await mkdir(path.join(cwd, 'in'));
  const schedule = `sweep-${randomUUID()}`;
  const batches = [`one-${randomUUID()}`, `two-${randomUUID()}`];
  const created = await command(
    ...['schedule', 'create', '--name', schedule, '--every', '365d', '--settled', '1s'],
    ...['--from', 'in', '--to', 'html', '--out', 'out'],
  );
  expect(created).toMatchObject({ code: 0 });
  const sweeps = async () => {
    const { info } = await rig.temporal.schedule.getHandle(schedule).describe();
    return info.recentActions.map(({ action }) => action.workflow);
  };

  for (let round = 1; round <= rounds; round += 1) {
    rig.stub.conversions.clear();
    await rm(path.join(cwd, 'out'), { recursive: true, force: true });
    for (const name of files) {
      await writeFile(source(name), `# ${name} of round ${round}\n`);
      await utimes(source(name), new Date('2026-01-01'), new Date(Date.UTC(2026, 0, round)));
    }
    const before = (await sweeps()).length;
    const handle = rig.client.start({
      source: source('a'),
      output: 'html',
      destination: path.join(cwd, 'out', 'a.html'),
    });
    const [program, ...commands] = await Promise.all([
      handle.then((job) => job.result()),
      ...batches.map((name) => command('batch', 'run', 'in', '--to', 'html', '--out', 'out', '--name', name)),
      command('convert', 'in/a.md', '--to', 'html', '--out', 'out'),
      command('schedule', 'trigger', schedule),
    ]);
    await until('the sweep has begun', async () => (await sweeps()).length > before);
    const swept: { workflowId: string } | undefined = (await sweeps()).at(-1);
    const sweep = rig.temporal.workflow.getHandle(swept?.workflowId ?? '').result();
    const told = {
      round,
      program,
      commands: commands.map(({ code, stderr }) => [code, stderr]),
      swept: (await sweep) as object,
    };
    expect(told).toMatchObject({
      ...{ program: { status: 'succeeded' }, swept: { failed: 0 } },
      commands: commands.map(({ stderr }) => [0, stderr]),
    });
    expect([...rig.stub.conversions.values()].sort()).toEqual(files.map((name) => `${name}.md`));
    for (const name of files) expect(await readFile(path.join(cwd, 'out', `${name}.html`))).toEqual(rig.stub.output);
  }
});
