// What the fleet runs on and npm does not bring: PostgreSQL from the system, and servers that Go builds once into the cache.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const { defaultCacheDir } = require('../../packages/cli/dist/dev-server');
const run = promisify(execFile);

const temporalVersion = 'v1.32.0';
const gatewayVersion = 'v1.8.0';

/** The programs, by what they do. Throws with one line for each that is missing, and what brings it. */
export async function findTools() {
  const postgres = postgresPrograms();
  const hasGo = spawnSync('go', ['version']).status === 0;
  const missing = [
    ...(postgres ? [] : ['PostgreSQL 12 or later is missing: apt-get install postgresql']),
    ...(hasGo ? [] : ['Go 1.26 or later is missing: it builds the Temporal server and the S3 server']),
  ];
  if (missing.length > 0) throw new Error(missing.join('\n'));
  return {
    postgres,
    s3: await built('versitygw', gatewayVersion, 'github.com/versity/versitygw/cmd/versitygw'),
    temporal: await built('temporal-server', temporalVersion, 'go.temporal.io/server/cmd/server'),
    temporalSql: await built('temporal-sql-tool', temporalVersion, 'go.temporal.io/server/cmd/tools/sql'),
  };
}

/** The folder with `initdb` and `postgres`, the newest of several. */
function postgresPrograms() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => path.join(root, version, 'bin')).find((bin) => existsSync(path.join(bin, 'initdb')));
}

async function built(name, version, module) {
  const cache = defaultCacheDir(process.env, homedir());
  const program = path.join(cache, `${name}-${version}-${process.platform}-${process.arch}`);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  console.log(`building ${name} ${version}, once; this takes minutes`);
  const folder = mkdtempSync(path.join(cache, `.${name}-`));
  try {
    await run('go', ['install', `${module}@${version}`], {
      env: { ...process.env, GOBIN: folder, GOFLAGS: '-modcacherw' },
      maxBuffer: 64 * 1024 ** 2,
    });
    renameSync(path.join(folder, path.basename(module)), program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return program;
}
