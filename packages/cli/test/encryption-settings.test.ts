import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { loadConfig } from '../src/config/load-config';
import { readEncryptionKeys } from '../src/keys/encryption';
import { hostOf } from './fileconv';
import { SecretMask } from '../src/output/secret-mask';
import { createOutput } from '../src/output/output';

const cwd = os.tmpdir();
it.each([
  ['with an id', (key: string, index: number) => `2026-1${index}:${key}`, true],
  ['without one, which is refused', (key: string) => key, false],
])('a key %s is masked in all output after it was read', async (_title, write, isUsable) => {
  const keys = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64'));
  const env = { KEYS: keys.map(write).join('\n'), FILECONV_ENCRYPTION_KEY_ENV: 'KEYS' };
  const config = await loadConfig({ cwd, env, file: undefined });
  const host = { ...hostOf({ cwd }), env };
  const output = createOutput({ ...host, json: false });
  const secrets = new SecretMask();
  const isRead = await readEncryptionKeys({ ...host, output, config, secrets }).then(
    () => true,
    () => false,
  );
  expect(isRead).toBe(isUsable);
  expect(secrets.apply(`keys: ${keys.join(', ')}`)).toBe('keys: ********, ********');
});
