import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, linesOf, mainFile, newFolder } from './fileconv';

let cwd: string;
beforeAll(async () => (cwd = await newFolder()));

it.each([
  { typed: ['ba'], is: ['batch'] },
  { typed: ['batch', 're'], is: ['report', 'resume', 'retry'] },
  { typed: ['batch', 'run', '--on-'], is: ['--on-end', '--on-existing', '--on-unknown-outcome'] },
  { typed: ['convert', 'a.md', '--on-existing', ''], is: ['fail', 'skip', 'overwrite', 'rename'] },
  { typed: ['convert', '--on-existing', 'skip', 'a.md', '--t'], is: ['--to', '--tag'] },
  // As bash splits `--on-existing=s` and `--on-existing=`.
  { typed: ['convert', 'a.md', '--on-existing', '=', 's'], is: ['skip'] },
  { typed: ['convert', 'a.md', '--on-existing', '='], is: ['fail', 'skip', 'overwrite', 'rename'] },
  { typed: ['completion', ''], is: ['bash', 'zsh', 'fish'] },
  { typed: ['logs', 'w'], is: ['worker'] },
  { typed: ['help', 'sch'], is: ['schedule'] },
  { typed: ['batch', 'help', 'li'], is: ['list'] },
  // The shell completes file names.
  { typed: ['convert', 're'], is: [] },
  { typed: ['convert', '--to', ''], is: [] },
])('completes $typed to $is', async ({ typed, is }) => {
  const ended = await fileconv(['complete', '--', ...typed], { cwd });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(linesOf(ended.stdout)).toEqual(is);
});

it('bash completes commands, and falls back to file names', async () => {
  const program = path.join(cwd, 'fileconv');
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${mainFile}" "$@"\n`);
  await chmod(program, 0o755);
  const script = (await fileconv(['completion', 'bash'], { cwd })).stdout;
  const complete = (word: string) =>
    `COMP_WORDS=(fileconv ${word}); COMP_CWORD=1; _fileconv; echo "[\${COMPREPLY[*]}]"; complete -p fileconv`;
  const { stdout } = spawnSync('bash', ['-c', `${script}\n${complete('sch')}`], {
    env: { ...process.env, PATH: `${cwd}:${process.env['PATH'] ?? ''}` },
    encoding: 'utf8',
  });
  expect(linesOf(stdout)).toEqual(['[schedule]', 'complete -o default -F _fileconv fileconv']);
});

it('refuses an unknown shell as a wrong argument', async () => {
  const ended = await fileconv(['completion', 'tcsh'], { cwd });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain('Allowed choices are bash, zsh, fish');
});
