import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Opening } from '../../src/checks/opening';

const folder = mkdtempSync(path.join(os.tmpdir(), 'fileconv-opening-'));
const opening = new Opening();
afterAll(() => opening.close());

it('ends a look that nobody waits for any more, and delays no other job', async () => {
  // Reading this blocks until there is a writer.
  const endless = path.join(folder, 'endless.pdf');
  execFileSync('mkfifo', [endless]);
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const looks = [first, second].map(({ signal }) => opening.ask({ path: endless, output: 'pdf' }, signal));
  const next = opening.ask({ output: 'pdf' }, third.signal);
  second.abort(new Error('the second is cancelled'));
  await expect(looks[1]).rejects.toThrow('the second is cancelled');
  first.abort(new Error('the first is cancelled'));
  await expect(looks[0]).rejects.toThrow('the first is cancelled');
  expect(await next).toEqual({ mustEnd: false });
});
