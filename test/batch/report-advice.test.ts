import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCodes } from '../../src/contract/error-codes';
import { adviceOn } from '../../src/batch/report/advice';

/** The rows of the last table of `docs/errors.md`; `test/docs/lists.test.ts` checks that the page lists every code. */
const page = readFileSync(path.resolve(__dirname, '../../docs/errors.md'), 'utf8');
const [, ours = ''] = /## Codes of ours\n(.*?)## Codes of batches\n/s.exec(page) ?? [];
const codesOfOurs = [...ours.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell]) =>
  [...(cell ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code ?? ''),
);
const unknown = adviceOn('NO_SUCH_CODE');

it('there is advice on every code that a job may fail with', () => {
  expect(codesOfOurs.length).toBeGreaterThan(30);
  // No job fails with this code.
  const ofJobs = codesOfOurs.filter((code) => code !== 'NOTICE_NOT_SENT');
  const codes = [...Object.keys(errorCodes), ...ofJobs, 'HTTP_502'];
  expect(codes.filter((code) => adviceOn(code).what === unknown.what)).toEqual([]);
});

it('an unlisted code gets the advice for unknown codes, even if objects inherit a property of that name', () => {
  expect(unknown.toDo).toMatch(/Temporal UI/);
  for (const code of ['constructor', '__proto__', 'toString', 'HTTP_x', '']) expect(adviceOn(code)).toEqual(unknown);
});
