import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, newFolder, type Ended } from './fileconv';
import { needsTemporal } from './lines-of-commands';

/** Output and exit code of each command when Temporal can't be reached. */

const address = '127.0.0.1:1';

it("a command that can't reach Temporal exits with 1, a batch command with 3, and says so in one line", async () => {
  const cwd = await newFolder();
  await mkdir(path.join(cwd, 'in'));
  await writeFile(path.join(cwd, 'in/a.md'), '# A\n');
  const options = { cwd, env: { TEMPORAL_ADDRESS: address } };
  // All at once, because each waits for some seconds.
  const all = await Promise.all(needsTemporal.map(([line]) => fileconv(line.split(' '), options)));
  const told = needsTemporal.map(([line], n) => {
    const { code, stderr = '' }: Partial<Ended> = all[n] ?? {};
    return [line, code, line === 'doctor' ? line : stderr.replace(/^(.* at 127\.0\.0\.1:1)\b.*\n$/, '$1')];
  });
  const reason = `error: Temporal can't be reached at ${address}`;
  expect(told).toEqual(needsTemporal.map(([line, code]) => [line, code, line === 'doctor' ? line : reason]));
});

it.each(['worker', 'callbacks'])(
  '%s does not join the stack of another folder, which may be at the usual port',
  async (part) => {
    const ended = await fileconv([part], { cwd: await newFolder() });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(
      /^error: No stack runs in .* Start one \(fileconv up\), or set TEMPORAL_ADDRESS to a Temporal that runs/,
    );
  },
);
