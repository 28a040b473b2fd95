import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** The variable PATH is that of whoever started the service, and decides nothing. */

function found(searchPath: string): unknown {
  const compiled = JSON.stringify(path.resolve(__dirname, '../../dist/engines'));
  const script = `
    const { confinements } = require(${compiled} + '/confinement');
    const { engines } = require(${compiled} + '/engines-table');
    const { versionsOf } = require(${compiled} + '/programs');
    Promise.all(engines.map(versionsOf)).then((versions) => {
      console.log(JSON.stringify({ confinements: confinements().map(({ name }) => name), versions }));
    });`;
  const env = { HOME: process.env['HOME'], PATH: searchPath };
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' }));
}

it('conversions are shut in, and programs tell their version, when PATH names no folder with programs', () => {
  expect(found('/nonexistent')).toEqual(found('/usr/local/bin:/usr/bin:/bin'));
});
