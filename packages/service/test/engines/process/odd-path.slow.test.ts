import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

/** The PATH of the process that started the service has no influence. */

async function found(searchPath: string): Promise<unknown> {
  const compiled = JSON.stringify(path.resolve(__dirname, '../../../dist/engines'));
  const script = `
    const { confinements } = require(${compiled} + '/process/confinement');
    const { engines } = require(${compiled} + '/engines-table');
    const { versionsOf } = require(${compiled} + '/programs');
    Promise.all(engines.map(versionsOf)).then((versions) => {
      console.log(JSON.stringify({ confinements: confinements().map(({ name }) => name), versions }));
    });`;
  const env = { HOME: process.env['HOME'], PATH: searchPath };
  return JSON.parse((await promisify(execFile)(process.execPath, ['-e', script], { env })).stdout);
}

it('finds the confinement and the versions of programs even if PATH is useless', async () => {
  const [odd, usual] = await Promise.all([found('/nonexistent'), found('/usr/local/bin:/usr/bin:/bin')]);
  expect(odd).toEqual(usual);
});
