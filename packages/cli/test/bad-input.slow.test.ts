import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testTemporalAddress } from '../../../test/support/temporal';
import { badInputs, type BadInput } from './bad-inputs';
import type { Ended } from './fileconv';
import { fileconvProcess as fileconv, filesBelow, linesOf, newFolder, parseJson, permissionsHold } from './fileconv';
import { stackOfAllTests } from './running-stack';
import { noisyPng } from './samples';

/** Acceptance: bad input gives one clear line and exit code 1, 2 or 3, and leaves no partial files. */

const stack = stackOfAllTests();

async function folderWith(prepare: BadInput['prepare']): Promise<string> {
  const folder = await newFolder();
  await writeFile(path.join(folder, 'good.md'), '# Good\n');
  await prepare?.(folder);
  return folder;
}

function errorLines(ended: Ended): string[] {
  expect(ended.stderr).not.toMatch(/^\s+at .*:\d+/m);
  return linesOf(ended.stderr);
}

describe('bad input gives one clear line on stderr, an exit code, and nothing else:', () => {
  for (const { line, prepare, env, exitCode, code, says, needsStack, skip } of badInputs) {
    const reason = skip ? ` (skipped: ${skip})` : '';
    (skip ? it.skip : it)(`${line}: ${says.source}${reason}`, async () => {
      const args = line.split(' ');
      const folder = await folderWith(prepare);
      const before = await filesBelow(folder);
      // Without the stack's state folder, a command that looks for a stack would start one and print so.
      const options = { cwd: folder, env: { ...(needsStack ? stack.env : {}), ...env?.(stack) } };

      const isFirst = badInputs.find((other) => other.code === code)?.says === says;
      const plain = await fileconv(args, options);
      // One after the other: in parallel, the second command would join the job of the first.
      const json = isFirst ? await fileconv([...args, '--json'], options) : undefined;

      expect(errorLines(plain)).toHaveLength(1);
      expect(plain.stderr).toMatch(/^error: /);
      expect(plain.stderr.replace(/^error: /, '').trimEnd()).toMatch(says);
      expect(plain).toMatchObject({ code: exitCode, stdout: '' });
      expect(await filesBelow(folder)).toEqual(before);
      // One place builds the document of every failure, so one check for each code is enough.
      if (!json) return;
      expect(json.code).toBe(exitCode);
      expect(errorLines(json)).toEqual(errorLines(plain));
      const document = parseJson(json.stdout);
      const expected = { code, message: expect.stringMatching(says) as unknown };
      if (code === 'FAILED_CONVERT') expect(document).toMatchObject({ status: 'failed', error: expected });
      else expect(document).toEqual({ error: { code, message: expect.any(String) as unknown } });
      expect(await filesBelow(folder)).toEqual(before);
    });
  }
});

it('prints the help when no command is named', async () => {
  const ended = await fileconv([], { cwd: await newFolder() });
  expect(ended.code).toBe(2);
  expect(linesOf(ended.stderr)).toEqual(['error: no command was named. See: fileconv --help']);
  expect(ended.stdout).toContain('Usage: fileconv');
});

describe('a full disk', () => {
  let folder: string;
  let isMounted = false;
  beforeAll(async () => {
    folder = await folderWith((to) => mkdir(path.join(to, 'small')));
    const mount = ['-t', 'tmpfs', '-o', 'size=64k', 'fileconv-test', path.join(folder, 'small')];
    isMounted = process.platform === 'linux' && spawnSync('mount', mount).status === 0;
    if (!isMounted) console.warn('Skipped: only root can mount the small file system of this test.');
    await writeFile(path.join(folder, 'big.png'), noisyPng(256));
  });
  afterAll(() => {
    if (isMounted) spawnSync('umount', [path.join(folder, 'small')]);
  });

  it('parks the job until its deadline, then prints one clear line, exits with 1 and leaves no partial file', async () => {
    if (!isMounted) return;
    const args = ['convert', 'big.png', '--to', 'tiff', '--out', 'small'];
    const ended = await fileconv(args, { cwd: folder, env: { ...stack.env, FILECONV_POLICIES_PARKED_DEADLINE: '3s' } });
    expect(linesOf(ended.stderr).filter((line) => line.startsWith('error:'))).toEqual([
      expect.stringMatching(/^error: big\.png → tiff: .*Make room/),
    ]);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(await filesBelow(path.join(folder, 'small'))).toEqual([]);
  });

  it('is named by `up`, whichever write fails first', async () => {
    if (!isMounted) return;
    const env = { FILECONV_STATE_DIR: path.join(folder, 'small/state') };
    for (const args of [['up'], ['up', '--detach']]) {
      // The remaining space is too small for a log.
      await writeFile(path.join(folder, 'small/other'), Buffer.alloc(64 * 1024)).catch(() => undefined);
      const ended = await fileconv(args, { cwd: folder, env });
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(linesOf(ended.stderr)).toEqual([
        expect.stringMatching(/^error: The disk of .*small\/state is full .*Make room/),
      ]);
    }
  });
});

it('prints one clear line when the state folder is a file', async () => {
  const folder = await newFolder();
  const env = { FILECONV_STATE_DIR: path.join(folder, 'state') };
  await writeFile(env.FILECONV_STATE_DIR, '');
  for (const args of [['up'], ['up', '--detach']]) {
    const ended = await fileconv(args, { cwd: folder, env });
    expect(ended.stderr).toMatch(
      /^error: The state folder .*state cannot be written to: it is a file, or in one\..*\n$/,
    );
    expect(ended.code).toBe(1);
  }
});

it('prints one clear line in a read-only folder, for every command that keeps state', async () => {
  if (!permissionsHold) return;
  const folder = await folderWith(undefined);
  const out = await newFolder();
  await chmod(folder, 0o555);
  const commands = [['up'], ['service'], ['worker'], ['convert', 'good.md', '--to', 'html', '--out', out]];
  for (const args of commands) {
    // A worker looks for Temporal first.
    const env: Record<string, string> = args[0] === 'worker' ? { TEMPORAL_ADDRESS: testTemporalAddress() } : {};
    const ended = await fileconv(args, { cwd: folder, env });
    expect(linesOf(ended.stderr).map((line) => line.replaceAll(folder, 'FOLDER'))).toEqual([
      'error: The state folder FOLDER/.fileconv cannot be written to: permission denied. Change to a folder of yours, or name another with FILECONV_STATE_DIR.',
    ]);
    expect(ended.code).toBe(1);
  }
  expect(await filesBelow(folder)).toEqual(['good.md']);
});
