import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { commandEnv, fileconv, newFolder, parseJson, startFileconv } from './fileconv';
import { hasScript, onScreen } from './pseudo-terminal';

/** The output of `fileconv service` for someone who connects a client. */

const env = { FILECONV_SERVICE_PORT: '0' };
const inShell = (lines: string): string =>
  execFileSync('bash', ['-c', `${lines}\necho "$CONVERSION_URL $CONVERSION_APP $CONVERSION_TOKEN"`], {
    env: commandEnv({}),
    encoding: 'utf8',
  }).trim();

const tokenIn = async (folder: string): Promise<string> =>
  (await readFile(path.join(folder, '.fileconv/service/embedded-app.token'), 'utf8')).trim();

it('prints lines to paste that read the token from its file if there is no terminal; apps add does the same', async () => {
  const folder = await newFolder();
  const running = startFileconv(['service'], { cwd: folder, env });
  await running.until(/CONVERSION_TOKEN=.*\n/);
  const lines = running
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('export '));
  const added = await fileconv(['service', 'apps', 'add', 'billing'], { cwd: folder });
  expect(added.stderr).toContain(`base_url = "${/CONVERSION_URL=(\S+)/.exec(running.stdout())?.[1]}"`);
  await running.end('SIGTERM');
  const token = await tokenIn(folder);
  expect(inShell(lines.join('\n'))).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+ [0-9a-f-]{36} ${token}$`));
  expect(running.stdout()).not.toContain(token);
});

(hasScript ? it : it.skip)('shows the token on a terminal, and writes it into no log', async () => {
  const folder = await newFolder();
  const { raw } = await onScreen(['service'], { cwd: folder, env, interrupt: /CONVERSION_TOKEN=\S+\r?\n/ });
  const token = await tokenIn(folder);
  expect(raw).toContain(`export CONVERSION_TOKEN=${token}`);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'embedded-app.token') continue;
    expect((await readFile(path.join(entry.parentPath, entry.name), 'latin1')).includes(token)).toBe(false);
  }
});

it('doctor names no port 0, which stands for any free one', async () => {
  const ended = await fileconv(['doctor', '--json'], { cwd: await newFolder(), env });
  const { findings } = parseJson(ended.stdout) as { findings: { part: string; says: string }[] };
  const [service] = findings.filter(({ part }) => part === 'service of app embedded');
  expect(service?.says).toMatch(/^No conversion service runs on /);
});
