import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../test/support/until';
import { fileconv, fileconvProcess, filesBelow, newFolder, parseJson } from './fileconv';
import { stackOfAllTests } from './running-stack';

describe('fileconv schedule', () => {
  const stack = stackOfAllTests();
  let cwd: string;

  beforeAll(async () => {
    cwd = await newFolder();
    await put('in/a.md', '# A\n');
  });

  /** Writes a file with an old modification time, so that it counts as settled. */
  async function put(name: string, content: string): Promise<void> {
    const file = path.join(cwd, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    await utimes(file, new Date('2026-01-01'), new Date('2026-01-01'));
  }

  const schedule = (...args: string[]) => fileconv(['schedule', ...args], { cwd, env: stack.env });
  const create = (...args: string[]) => {
    const from = args.includes('--from') ? [] : ['--from', 'in'];
    return schedule('create', ...from, '--to', 'html', '--out', 'out', ...args);
  };

  interface Listed {
    schedules: { name: string; isPaused: boolean; work?: { everyMs?: number } }[];
  }
  const find = async (name: string) => {
    const { schedules } = parseJson((await schedule('list', '--json')).stdout) as Listed;
    return schedules.find((each) => each.name === name);
  };

  it('creates a schedule, which can be listed, triggered, paused, resumed and deleted', async () => {
    const created = await create('--every', '1h', '--settled', '1s', '--name', 'scans', '--json');
    expect(created).toMatchObject({ code: 0, stderr: '' });
    expect(parseJson(created.stdout)).toEqual({ schedule: 'scans', created: true });
    await until('it is listed', async () => (await find('scans')) !== undefined);
    expect(await find('scans')).toMatchObject({ isPaused: false, work: { everyMs: 3_600_000 } });
    expect((await schedule('list')).stdout).toMatch(/scans +│? *every 1 hour/);
    const inTokyo = await fileconvProcess(['schedule', 'list'], { cwd, env: { ...stack.env, TZ: 'Asia/Tokyo' } });
    expect(inTokyo.stdout).toMatch(/LAST \(HERE\) +LAST \(UTC\) +NEXT \(HERE\) +NEXT \(UTC\)/);

    const triggered = await schedule('trigger', 'scans');
    expect(triggered.stdout).toContain('Once there is something to do: fileconv batch status scans');
    const status = await fileconv(['batch', 'status', 'scans'], { cwd, env: stack.env });
    expect([status.stdout, status.stderr].join('')).toMatch(/Batch scans has not begun: schedule scans|^Batch scans: /);
    await until('the file is converted', async () => (await filesBelow(cwd)).includes(path.join('out', 'a.html')));
    await until('its batch has ended', async () => {
      const { stdout } = await fileconv(['batch', 'status', 'scans', '--json'], { cwd, env: stack.env });
      return (parseJson(stdout) as { status?: string }).status === 'completed';
    });

    expect((await schedule('pause', 'scans', '--reason', 'month end')).stdout).toContain('fileconv schedule resume');
    await until('the list knows', async () => (await find('scans'))?.isPaused === true);
    expect((await schedule('resume', 'scans')).code).toBe(0);
    expect((await schedule('delete', 'scans', '--json')).code).toBe(0);
    const gone = await schedule('trigger', 'scans');
    expect(gone.code).toBe(2);
    expect(gone.stderr).toContain('There is no schedule scans. See: fileconv schedule list');
  });

  it('places results by --template, and refuses an invalid template', async () => {
    const refused = await create('--every', '1h', '--name', 'placed', '--template', '{nam}.{ext}');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error: .*template: can't be used: there is no \{nam\}\. Did you mean \{name\}\? See: /,
    );
    expect((await schedule('trigger', 'placed')).code).toBe(2);
    const asked = ['--every', '1h', '--settled', '1s', '--name', 'placed', '--template', 'made/{name}-2026.{ext}'];
    expect(await create(...asked)).toMatchObject({ code: 0 });
    expect(await schedule('trigger', 'placed')).toMatchObject({ code: 0 });
    const result = path.join('out', 'made', 'a-2026.html');
    await until('the file is converted', async () => (await filesBelow(cwd)).includes(result));
    expect(await schedule('delete', 'placed')).toMatchObject({ code: 0 });
  });

  it('prints commands that can be pasted, whatever the name of the schedule', async () => {
    const asked = ['--every', '1h', '--name', 'my scans'];
    expect((await create(...asked)).stderr).toBe(
      "A first run now: fileconv schedule trigger 'my scans'. How a run goes: fileconv batch status 'my scans'\n",
    );
    expect((await create(...asked)).stderr).toMatch(/fileconv schedule delete 'my scans'$/m);
    expect((await schedule('pause', 'my scans')).stdout).toMatch(/fileconv schedule resume 'my scans'$/m);
    expect((await schedule('resume', 'my scans')).stdout).toMatch(/fileconv schedule trigger 'my scans'$/m);
    expect((await schedule('trigger', 'my scans')).stdout).toMatch(/fileconv batch status 'my scans'$/m);
    expect((await schedule('delete', 'my scans')).code).toBe(0);
  });

  it('shows in lists and in the batch status that the last sweep failed, why, and what to type', async () => {
    const folder = path.join(cwd, 'moved');
    await mkdir(folder);
    expect((await create('--every', '1h', '--settled', '1s', '--name', 'broken', '--from', 'moved')).code).toBe(0);
    await rm(folder, { recursive: true });
    expect((await schedule('trigger', 'broken')).code).toBe(0);
    const told =
      /The last sweep of schedule broken failed with SOURCE_NOT_FOUND: .*does not exist.* fileconv schedule trigger broken/;
    await until('the list tells of it', async () => told.test((await schedule('list')).stdout));
    expect(await find('broken')).toMatchObject({ lastFailure: { code: 'SOURCE_NOT_FOUND' } });
    const status = await fileconv(['batch', 'status', 'broken'], { cwd, env: stack.env });
    expect(status.code).not.toBe(0);
    expect(status.stderr).toMatch(told);
    expect((await schedule('delete', 'broken')).code).toBe(0);
  });

  it('shows in lists which files the last sweep did not convert, and why', async () => {
    for (const name of ['one.md', 'one.txt', 'two.md']) await put(`odd/${name}`, '# One\n');
    const asked = ['--every', '1h', '--settled', '1s', '--name', 'odd', '--from', 'odd', '--out', 'odd out'];
    expect([(await create(...asked)).code, (await schedule('trigger', 'odd')).code]).toEqual([0, 0]);
    const told =
      /The last sweep of schedule odd did not convert everything: 2 files not converted\. See: fileconv batch status odd\n {2}.*would both become/;
    await until('the list tells of it', async () => told.test((await schedule('list')).stdout));
    expect(await find('odd')).toMatchObject({
      lastResult: { succeeded: 1, failed: 2, refused: 2, planned: { leftOut: 0 } },
    });
    expect((await schedule('delete', 'odd')).code).toBe(0);
  });

  it('moves sources as --when-done and --when-failed say; batch retry moves back the failed ones', async () => {
    await put('hot/one.md', '# One\n');
    await put('hot/two.md', '');
    const to = ['--from', 'hot', '--when-done', 'move:hot/done', '--when-failed', 'move:not done'];
    expect((await create('--every', '1h', '--name', 'hot', ...to)).code).toBe(0);
    const files = async () => (await filesBelow(cwd)).filter((name) => /^(hot|not done)\/(.*\/)?[^/]+\./.test(name));
    expect((await schedule('trigger', 'hot')).code).toBe(0);
    const reason = 'not done/two.md.reason.txt';
    await until('both are moved', async () => (await files()).join() === `hot/done/one.md,not done/two.md,${reason}`);

    await writeFile(path.join(cwd, 'not done', 'two.md'), '# Two\n');
    await put('hot/three.md', '# Three\n');
    const retried = await fileconv(['batch', 'retry', 'hot'], { cwd, env: stack.env });
    expect([retried.code, retried.stderr]).toEqual([0, expect.stringContaining('Batch hot: 2 files to convert.')]);
    expect(await files()).toEqual(['hot/done/one.md', 'hot/done/three.md', 'hot/done/two.md']);
    expect((await fileconv(['batch', 'retry', 'hot'], { cwd, env: stack.env })).stdout).toContain(
      'no files to convert',
    );
    expect((await schedule('delete', 'hot')).code).toBe(0);
  });

  it('keeps apart what a retry leaves out and what it cannot move back because the name is taken', async () => {
    await put('twice/bad.md', '');
    const created = await create('--every', '1h', '--name', 'twice', '--from', 'twice', '--when-failed', 'move:stays');
    expect([created.code, (await schedule('trigger', 'twice')).code]).toEqual([0, 0]);
    const status = () => fileconv(['batch', 'status', 'twice'], { cwd, env: stack.env });
    await until('the sweep has ended', async () => (await status()).stdout.startsWith('Batch twice: completed.'));
    await put('twice/bad.md', '# Good\n');
    await symlink('nowhere', path.join(cwd, 'twice', 'link.md'));
    const retried = await fileconv(['batch', 'retry', 'twice', '--json'], { cwd, env: stack.env });
    expect(retried.stderr).toContain('bad.md is there again. What has failed before stays');
    const messages = [expect.stringContaining('link.md is a symbolic link that leads nowhere')];
    expect(parseJson(retried.stdout)).toMatchObject({ counts: { succeeded: 1 }, leftOut: { count: 1, messages } });
    expect((await schedule('delete', 'twice')).code).toBe(0);
  });

  it('refuses a name that is in use', async () => {
    expect((await create('--cron', '0 6 * * 1-5', '--name', 'taken')).code).toBe(0);
    const again = await create('--every', '1h', '--name', 'taken', '--json');
    expect(again.code).toBe(2);
    expect(parseJson(again.stdout)).toMatchObject({ error: { code: 'INPUT_UNUSABLE' } });
    expect(again.stderr).toContain('fileconv schedule delete taken');
  });

  it.each([
    [['--cron', '61 * * * *'], '--cron: '],
    [['--cron', '0 6 * * *', '--time-zone', 'Nowhere/Land'], '--cron: '],
    [['--every', '1s'], '10s or more'],
    [['--every', 'often'], '10s or more'],
    [['--every', '1h', '--cron', '0 6 * * *'], 'either --every or --cron'],
    [[], 'either --every or --cron'],
    [['--every', '1h', '--time-zone', 'Europe/Berlin'], '--time-zone is for --cron'],
    [['--every', '1h', '--from', 'nowhere'], 'nowhere does not exist'],
    [['--every', '1h', '--from', 'in/a.md'], 'in/a.md is not a folder'],
    [['--every', '1h', '--to', 'nothing'], 'nothing'],
    [['--every', '1h', '--settled', '2d'], 'at most 12h'],
    [['--every', '1h', '--name', '../up'], "can't be the name"],
    [['--every', '1h', '--when-done', 'delete'], 'It must be keep or move:DIR'],
    [['--every', '1h', '--when-done', 'move:in/a.md'], 'in/a.md is not a folder'],
    [['--every', '1h', '--when-failed', 'move:in'], '--when-failed is the folder that is converted'],
    [['--every', '1h', '--when-done', 'move:s3://bucket/done/'], '--when-done must be in the same store as the files'],
  ])('refuses %j with exit code 2 and says why', async (args, reason) => {
    const { code, stderr, stdout } = await create('--name', 'refused', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(stdout).toBe('');
  });
});
