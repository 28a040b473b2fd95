import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, filesBelow, newFolder, parseJson } from './fileconv';
import { envOfRig, rigOfCommandsOfAllTests } from './running-stack';

/** Output of commands when the worker's check command rejects a result. */

const rig = rigOfCommandsOfAllTests({
  checkCommand: { argv: ['sh', '-c', '! grep -q bad "$1" || ! echo "it is bad"', 'sh'] },
});
let env: Record<string, string>;
beforeEach(() => {
  env = envOfRig(rig);
  rig.stub.output = Buffer.from('PK bad');
  rig.stub.requests.length = 0;
});

const options = ['--to', 'docx', '--app', 'stub', '--check', 'command'];

it('convert exits with 1, names the place and the reason, and converts again only with --again', async () => {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  const run = (...args: string[]) => fileconv(['convert', 'a.md', ...options, ...args], { cwd, env });
  const ended = await run();
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('a.md → docx: The result is refused by sh: it is bad. It is paid for, and stands at');
  expect(await filesBelow(cwd)).toEqual(['a.docx.suspect', 'a.md']);

  const again = await run('--json');
  expect(again.code).toBe(1);
  expect(parseJson(again.stdout)).toMatchObject({
    status: 'suspect',
    output: { path: path.join(cwd, 'a.docx.suspect') },
    error: { code: 'RESULT_SUSPECT' },
  });
  expect(rig.stub.count('convert/file')).toBe(1);
  const { workflowId } = parseJson(again.stdout) as { workflowId: string };
  const shown = await fileconv(['job', 'show', workflowId], { cwd, env });
  expect(shown.stdout).toContain(`pay again: fileconv job retry ${workflowId} --again`);

  rig.stub.output = Buffer.from('PK good');
  expect((await run('--again')).code).toBe(0);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.docx.suspect', 'a.md']);
});

it('names the actual place of the result, also if it is numbered or the output is a pipe', async () => {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, 'a.docx.suspect'), 'of somebody else');
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  const numbered = await fileconv(['convert', 'a.md', ...options], { cwd, env });
  expect(numbered.stderr).toContain('stands at a.docx (1).suspect;');
  const name = ['--name', path.basename(cwd)];
  const batch = await fileconv(['batch', 'run', 'a.md', ...options, ...name, '--json'], { cwd, env });
  expect(batch.stdout).toContain(`stands at ${path.join(cwd, 'a.docx (1).suspect')};`);

  const pipe = ['convert', '-', '--from', 'md', ...options, '--out', '-'];
  const piped = await fileconv(pipe, { cwd, env, input: '# A\n' });
  expect(piped).toMatchObject({ code: 1, stdout: '' });
  const place = /stands at (.*\.suspect);/.exec(piped.stderr)?.[1] ?? '';
  expect(await readFile(path.resolve(cwd, place), 'utf8')).toBe('PK bad');
});

it('batch run and batch retry exit with 1 and offer no retry; the configuration may enable the check', async () => {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, 'b.md'), '# B\n');
  await writeFile(path.join(cwd, 'fileconv.toml'), '[policies]\ncheck = "command"\n');
  const name = ['--name', path.basename(cwd)];
  const ended = await fileconv(['batch', 'run', 'b.md', '--to', 'docx', '--app', 'stub', ...name], { cwd, env });
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/1 {2}RESULT_SUSPECT: The result has not passed its check/);
  expect(ended.stdout).not.toContain('fileconv batch retry');
  const retried = await fileconv(['batch', 'retry', path.basename(cwd), '--json'], { cwd, env });
  expect(retried.code).toBe(1);
  const { files, ...report } = parseJson(retried.stdout) as { files: { csv: string } };
  expect(report).toMatchObject({
    suspect: 1,
    kept: 0,
    counts: { failed: 1 },
    receipt: { charged: { conversions: 0 } },
  });
  expect(await readFile(files.csv, 'utf8')).toMatch(/\r\n1,suspect,/);
  expect(rig.stub.count('convert/file')).toBe(1);
});
