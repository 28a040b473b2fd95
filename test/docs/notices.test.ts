import { execFile } from 'node:child_process';
import { mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import ts from 'typescript';
import { noticeSecret } from '../support/listener';
import { root, snippetsOf } from './pages';

let cwd: string;
beforeAll(async () => (cwd = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'))));

it('the ten lines of the README accept a signed notice, and throw if one byte has changed', async () => {
  const [lines = ''] = snippetsOf('README.md', 'ts').filter((code) => code.includes('standardwebhooks'));
  expect(lines.trim().split('\n').length).toBeLessThanOrEqual(10);
  const compilerOptions = { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 };
  await symlink(path.join(root, 'node_modules'), path.join(cwd, 'node_modules'));
  await writeFile(path.join(cwd, 'read-notice.mjs'), ts.transpileModule(lines, { compilerOptions }).outputText);
  const reads = `import { readNotice } from './read-notice.mjs';
for (const body of process.argv.slice(3)) {
  try { console.log(readNotice(body, JSON.parse(process.argv[2])).type); } catch (error) { console.log(error.name); }
}`;
  await writeFile(path.join(cwd, 'read.mjs'), reads);
  const body = '{"type":"app.parked"}';
  const now = new Date();
  const headers = {
    'webhook-id': 'one',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(noticeSecret).sign('one', now, body),
  };
  const args = ['read.mjs', JSON.stringify(headers), body, body.replace('parked', 'parkeD')];
  const env = { ...process.env, NOTIFY_SECRET: noticeSecret };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env });
  expect(stdout).toBe('app.parked\nWebhookVerificationError\n');
});
