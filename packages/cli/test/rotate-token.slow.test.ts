import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { freePort } from '../src/dev-server';
import { until } from '../../../test/support/until';
import { convertedPictures, countConvertRequests, folderWithPictures } from './batch-pictures';
import { fileconv, newFolder, parseJson, removeFolders, startFileconv } from './fileconv';
import { startStack, type RunningStack } from './running-stack';

let stack: RunningStack | undefined;

afterAll(async () => {
  await stack?.stop();
  await removeFolders();
});

const account = z.object({ appId: z.string(), token: z.string() });

it('a token that is revoked and replaced under a batch: no file fails, none is converted twice, and no worker is restarted', async () => {
  const port = String(await freePort());
  const tokenFile = path.join(await newFolder(), 'billing.token');
  // What was accepted before the refusal asks again after this pause.
  const own = {
    FILECONV_POLICIES_RETRY_MAXIMUM_INTERVAL: '3 s',
    FILECONV_SERVICE_PORT: port,
    FILECONV_STATE_DIR: path.join(await newFolder(), 'state'),
  };
  const cwd = await folderWithPictures(80);
  const added = await fileconv(['service', 'apps', 'add', 'billing', '--json'], { cwd, env: own });
  const { appId, token } = account.parse(parseJson(added.stdout));
  await writeFile(tokenFile, token, { mode: 0o600 });
  const billing = {
    ...own,
    FILECONV_APPS_BILLING_BASE_URL: `http://127.0.0.1:${port}`,
    FILECONV_APPS_BILLING_APP_ID: appId,
    FILECONV_APPS_BILLING_TOKEN_FILE: tokenFile,
  };
  stack = await startStack(billing);
  const env = billing;
  const run = (...args: string[]) => fileconv(args, { cwd, env });
  const options = ['--to', 'gif', '--out', 'out', '--name', 'pictures', '--window', '4', '--app', 'billing'];
  const batch = startFileconv(['batch', 'run', 'in', ...options], { cwd, env });
  await convertedPictures(cwd, { total: 80, wanted: 10 });

  const accounts = path.join(own.FILECONV_STATE_DIR, 'service/accounts.toml');
  const newToken = randomBytes(32).toString('hex');
  const hashes = [token, newToken].map((each) => createHash('sha256').update(each).digest('hex')) as [string, string];
  await writeFile(accounts, (await readFile(accounts, 'utf8')).replace(...hashes));
  await batch.until(/fileconv app ready --app billing/);
  await writeFile(tokenFile, newToken);
  await until('the new token is accepted', async () => {
    return (await run('doctor', '--app', 'billing')).stdout.includes('accepts the token');
  });
  expect((await run('app', 'ready', '--app', 'billing')).stdout).toMatch(
    /^[1-9]\d* jobs? of app billing told to continue\.\n$/,
  );

  const { code, stdout } = await batch.ended;
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('All 80 files are converted.') as unknown,
  });
  expect(await countConvertRequests({ cwd, env })).toBe(80);
  expect(`${batch.stdout()}${batch.stderr()}`).not.toContain(token);
});
