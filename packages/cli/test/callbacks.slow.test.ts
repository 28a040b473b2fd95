import { mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCallbackUrl, parseCallbackKeys } from '../../../src/callbacks/callback-url';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, linesOf, startProcess } from './fileconv';

const unreachable = { TEMPORAL_ADDRESS: '127.0.0.1:1', FILECONV_CALLBACKS_PORT: '0' };

describe('fileconv callbacks', () => {
  let folder: string;

  beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'fileconv-callbacks-'))));

  it('creates its key, accepts callbacks below the public path, and ends on SIGTERM', async () => {
    const env = {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_CALLBACKS_PORT: '0',
      FILECONV_CALLBACKS_PUBLIC_BASE_URL: 'https://hooks.example.com/conversion',
    };
    const running = startProcess(['callbacks', '--json'], { cwd: folder, env });
    await running.untilJson();
    const { url } = JSON.parse(running.stdout()) as { url: string };
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const keyFile = path.join(folder, '.fileconv/callbacks.key');
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    const key = await readFile(keyFile, 'utf8');
    const submission = { workflowId: 'no/such/job', nonce: '0b7d6a0e-94a5-4d0b-8f0e-3f1f5c1c7a11' };
    const callback = createCallbackUrl(`${url}/conversion`, submission, parseCallbackKeys(key).current);
    expect((await fetch(callback, { method: 'POST' })).status).toBe(204);
    expect((await fetch(callback.slice(0, -1), { method: 'POST' })).status).toBe(401);
    const ended = await running.end('SIGTERM');
    expect(ended.code).toBe(0);
    for (const secret of [key.trim(), callback.slice(-43), submission.nonce]) {
      expect(ended.stdout + ended.stderr).not.toContain(secret);
    }
  });

  it.each([
    [{}, 1],
    [{ FILECONV_CALLBACKS_EMBEDDED_BASE_URL: 'http://127.0.0.1:8466' }, 0],
  ])('warns that no service will call it only if none is configured to: %j', async (env, warnings) => {
    const running = startProcess(['callbacks'], { cwd: folder, env: { ...unreachable, ...env } });
    await until('it listens', () => (running.stdout() + running.stderr()).includes('Receiving callbacks at'));
    const { stdout, stderr } = await running.end('SIGTERM');
    expect(linesOf(stdout + stderr).filter((line) => line.includes('No service is asked'))).toHaveLength(warnings);
  });

  it('answers 503 while Temporal is down, and says so without the URL', async () => {
    const key = 'a-key-from-a-variable-0123456789-abcdef';
    const env = { ...unreachable, FILECONV_CALLBACKS_KEY_ENV: 'HOOK_KEY', HOOK_KEY: key };
    const running = startProcess(['callbacks', '--json'], { cwd: folder, env });
    await running.untilJson();
    const { url } = JSON.parse(running.stdout()) as { url: string };
    const callback = createCallbackUrl(url, { workflowId: 'job', nonce: 'n' }, parseCallbackKeys(key).current);
    expect((await fetch(callback, { method: 'POST' })).status).toBe(503);
    const { code, stdout, stderr } = await running.end('SIGTERM');
    expect(code).toBe(0);
    for (const secret of [key, callback.slice(-43)]) expect(stdout + stderr).not.toContain(secret);
  });

  it('explains a bad key in one line', async () => {
    const variables = { FILECONV_CALLBACKS_KEY_ENV: 'HOOK_KEY', HOOK_KEY: 'short-key' };
    const ended = await fileconv(['callbacks'], { cwd: folder, env: { ...unreachable, ...variables } });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/at least 32 characters, not 9/)]);
    expect(ended.stderr).not.toContain('short-key');
  });

  it('ends a worker that has no key for signing', async () => {
    const url = { FILECONV_CALLBACKS_PUBLIC_BASE_URL: 'https://hooks.example.com' };
    const env = { ...unreachable, ...url, FILECONV_CALLBACKS_KEY_ENV: 'HOOK_KEY' };
    const ended = await fileconv(['worker'], { cwd: folder, env });
    expect(ended).toMatchObject({ code: 2, signal: null });
    expect(ended.stderr).toContain('the variable HOOK_KEY is not set');
  });
});
