import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { serviceOfAllTests } from '../support';

/** The curl and jq example of docs/service/clients.md. */

const hasCurl = ['curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const page = readFileSync(path.resolve(__dirname, '../../../../docs/service/clients.md'), 'utf8');
const [, example = ''] = /## curl\n\n```\n(.*?)```/s.exec(page) ?? [];
const lines = example.split('\n').map((line) => line.replace(/^\$ /, ''));
const running = serviceOfAllTests();

(hasCurl ? it : it.skip)('the example of docs/service/clients.md ends with the converted file', async () => {
  const { client, dataDir: cwd } = running;
  await writeFile(path.join(cwd, 'report.md'), '# Report\n');
  const account = { CONVERSION_APP: client.app.appId, CONVERSION_TOKEN: client.token };
  const env = { PATH: process.env['PATH'], CONVERSION_URL: client.url, ...account };
  expect(lines.length).toBeGreaterThan(4);
  await promisify(execFile)('bash', ['-euc', lines.join('\n')], { cwd, env });
  expect((await readFile(path.join(cwd, 'report.pdf'), 'latin1')).slice(0, 5)).toBe('%PDF-');
});
