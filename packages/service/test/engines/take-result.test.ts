import { existsSync, lstatSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { takeResult } from '../../src/engines/process/conversion-pool';

const folder = mkdtempSync(path.join(tmpdir(), 'take-result-'));
const [made, place, secret] = ['made', 'place', 'secret'].map((name) => path.join(folder, name)) as [
  string,
  string,
  string,
];
writeFileSync(secret, 'of the server');

it('takes a file', async () => {
  writeFileSync(made, 'result');
  await takeResult(made, place);
  expect(readFileSync(place, 'utf8')).toBe('result');
});

it('takes no link to a file of the server, and leaves that file alone', async () => {
  symlinkSync(secret, made);
  await expect(takeResult(made, place)).rejects.toThrow('something else than a file');
  expect([existsSync(place), lstatSync(secret).isFile()]).toEqual([false, true]);
});
