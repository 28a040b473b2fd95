// What a batch left behind, read where it lies: rows of its runs, and the conversions of the embedded service.
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const Database = require('libsql');

/** The lines of a file of a run. */
export function readLines(run, file) {
  return readFileSync(path.join(run, file), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/**
 * The conversions that the service has charged or will, with the names of their outputs: failed tasks are not.
 *
 * @param dataFolder the service's.
 */
export function conversionsAt(dataFolder) {
  const db = new Database(path.join(dataFolder, 'service.db'), { readonly: true, timeout: 5_000 });
  try {
    return db
      .prepare(
        "SELECT id AS taskId, file_name AS output FROM tasks WHERE endpoint LIKE '%convert/file' AND error_code IS NULL",
      )
      .all();
  } finally {
    db.close();
  }
}

/** The test suite's own, which is TypeScript. `name`: of a file that no other process builds. */
export async function loadInvariant(name) {
  const outfile = path.resolve(import.meta.dirname, '../node_modules/.cache', `${name}.cjs`);
  const entryPoints = [path.resolve(import.meta.dirname, '../test/support/invariant.ts')];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', packages: 'external', logLevel: 'warning' });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile);
  }
}

export function countBy(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** With one digit. */
export function secondsSince(startedAt) {
  return Math.round((Date.now() - startedAt) / 100) / 10;
}
