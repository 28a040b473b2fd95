// What is published, seen as its users' tools see it: npm run lint:package. Needs a build.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packAll } from './pack.mjs';

const root = path.resolve(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'fileconv-lint-'));
try {
  const { plugin, service, cli } = packAll(folder);
  const run = (tool, ...args) =>
    execFileSync(path.join(root, 'node_modules/.bin', tool), args, { cwd: root, stdio: 'inherit' });
  for (const tarball of [plugin, service, cli]) run('publint', '--strict', tarball);
  for (const tarball of [plugin, service]) run('attw', tarball);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
