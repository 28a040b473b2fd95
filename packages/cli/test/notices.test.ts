import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { noticeTypes } from 'temporal-file-conversion/job';
import { notifySettings } from '../src/keys/secrets';
import { loadConfig } from '../src/config/load-config';
import { SecretMask } from '../src/output/secret-mask';
import { createOutput } from '../src/output/output';
import { noticeSecret } from '../../../test/support/listener';
import { folderWithPictures } from './batch-pictures';
import { fileconv, hostOf, linesOf, newFolder, parseJson } from './fileconv';
import { sharedStackOfTests } from './running-stack';

/** `[notify]`, `--notify` and `--on-end`. */

const stack = sharedStackOfTests();

async function settingsOf(env: Record<string, string>) {
  const cwd = await newFolder();
  const host = { ...hostOf({ cwd }), env };
  const secrets = new SecretMask();
  const config = await loadConfig({ cwd, env, file: undefined });
  const context = { ...host, secrets, config, output: createOutput({ ...host, json: false }) };
  return { settings: await notifySettings(context), secrets };
}

describe('[notify]', () => {
  it('gives a worker the URL, the events and the secret, which is masked in logs from then on', async () => {
    const { settings, secrets } = await settingsOf({
      FILECONV_NOTIFY_URL: 'https://hooks.example.com/T0?sig=1',
      FILECONV_NOTIFY_SECRET_ENV: 'SECRET',
      FILECONV_NOTIFY_EVENTS: 'batch.ended',
      FILECONV_NOTIFY_ALLOWED_HOSTS: '10.0.0.0/8',
      SECRET: `${noticeSecret}\n`,
    });
    expect(settings).toEqual({
      url: 'https://hooks.example.com/T0?sig=1',
      secret: noticeSecret,
      events: ['batch.ended'],
      allowedHosts: ['10.0.0.0/8'],
    });
    expect(secrets.apply(`it is ${noticeSecret}`)).toBe('it is ********');
    expect((await settingsOf({})).settings).toEqual({ events: noticeTypes, allowedHosts: [] });
  });

  it.each([
    [{ FILECONV_NOTIFY_SECRET_ENV: 'SECRET' }, 'The secret of notices: the variable SECRET is not set'],
    [
      { FILECONV_NOTIFY_SECRET_ENV: 'SECRET', SECRET: 'too-short' },
      'The secret of notices: the variable SECRET must be',
    ],
    [
      { FILECONV_NOTIFY_URL: 'https://me:password@hooks.example.com' },
      'must be an http or https URL without user name',
    ],
    [{ FILECONV_NOTIFY_EVENTS: 'batch.begun' }, 'a list of some of batch.ended'],
  ])('%j ends the worker with one line that repeats no secret', async (env, message) => {
    const said = await settingsOf(env).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
    expect(said).toContain(message);
    expect(said).not.toMatch(/too-short|password@/);
  });
});

it('refuses an invalid --notify URL before doing anything, without repeating it', async () => {
  const args = ['batch', 'run', 'in', '--to', 'gif', '--notify', 'https://me:password@hooks.example.com'];
  const ended = await fileconv(args, { cwd: await newFolder(), env: stack.env });
  expect([ended.code, linesOf(ended.stderr)]).toEqual([
    2,
    ['error: --notify must be an http or https URL without user name, password or "#".'],
  ]);
});

describe('--on-end', () => {
  const script = (code: number) =>
    `#!/bin/sh\nprintf '%s\\n' "$#" "$1" "$2" > told.txt\ncat > told.json\nexit ${code}\n`;

  async function run(name: string, program: string, { files = 2, code = 0, from = 'in' } = {}) {
    const cwd = await folderWithPictures(files);
    await writeFile(path.join(cwd, 'tell me.sh'), script(code));
    await chmod(path.join(cwd, 'tell me.sh'), 0o755);
    const args = ['batch', 'run', from, '--to', 'gif', '--out', 'out', '--name', name, '--on-end', program, '--json'];
    const ended = await fileconv(args, { cwd, env: stack.env });
    const told = (file: string) => readFile(path.join(cwd, file), 'utf8').catch(() => '');
    return { ended, told: linesOf(await told('told.txt')), json: await told('told.json') };
  }

  it('runs a program without a shell when the batch has ended, with its name, status and report', async () => {
    const { ended, told, json } = await run('ended', './tell me.sh');
    expect(ended.code).toBe(0);
    expect(parseJson(ended.stdout)).toMatchObject({ counts: { succeeded: 2 } });
    expect(told).toEqual(['2', 'ended', 'completed']);
    expect(JSON.parse(json)).toMatchObject({ batch: 'ended', status: 'completed', counts: { succeeded: 2 } });
  });

  it('warns of a program that fails, and keeps the exit code of the batch', async () => {
    const { ended } = await run('fails', './tell me.sh', { code: 3 });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain('warning: --on-end: ./tell me.sh has ended with code 3.');
  });

  it('also runs when the batch itself failed', async () => {
    const { ended, told, json } = await run('no-files', './tell me.sh', { from: 'in/*.nothing' });
    expect([ended.code, told]).toEqual([2, ['2', 'no-files', 'failed']]);
    expect(JSON.parse(json)).toMatchObject({ status: 'failed', code: expect.any(String) as string });
  });

  it.each(['./tell me.sh now', './in'])(
    'refuses %s before the batch starts, because there is no such program',
    async (program) => {
      const { ended } = await run('no-program', program);
      expect(ended.code).toBe(2);
      expect(linesOf(ended.stderr)).toEqual([
        `error: --on-end: there is no program ${program} that can be run. It takes the name or path of one program, without arguments; put more into a script.`,
      ]);
      expect((await fileconv(['batch', 'status', 'no-program'], { cwd: await newFolder(), env: stack.env })).code).toBe(
        2,
      );
    },
  );
});
