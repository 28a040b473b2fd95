import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import {
  CallbackKeyError,
  ensureCallbackKeyFile,
  parseCallbackKeys,
  createCallbackUrl,
  isBaseUrl,
  readCallbackToken,
} from '../../src/callbacks/callback-url';

const firstKey = 'first-key-0123456789-0123456789-abcdef';
const secondKey = 'second-key-0123456789-0123456789-abcde';
const submission = { workflowId: 'invoices/März 17/ünï.docx', nonce: '0b7d6a0e-94a5-4d0b-8f0e-3f1f5c1c7a11' };

function tokenOf(text: string): string {
  const url = createCallbackUrl('https://hooks.example.com/conversion', submission, parseCallbackKeys(text).current);
  return url.slice(url.lastIndexOf('/') + 1);
}

describe('a callback URL', () => {
  it('names the job and the submit, below the public base URL, in characters that need no escaping', () => {
    const url = createCallbackUrl('https://h.example.com/a/b', submission, parseCallbackKeys(firstKey).current);
    expect(url).toMatch(/^https:\/\/h\.example\.com\/a\/b\/[\w-]+\.[0-9a-f-]{36}\.[\w-]{43}$/);
    expect(readCallbackToken(url.slice(url.lastIndexOf('/') + 1), parseCallbackKeys(firstKey))).toEqual(submission);
  });

  it('is rejected when any character was changed, removed or added', () => {
    const keys = parseCallbackKeys(firstKey);
    const token = tokenOf(firstKey);
    for (let index = 0; index < token.length; index += 1) {
      const other = token[index] === 'A' ? 'B' : 'A';
      expect(readCallbackToken(token.slice(0, index) + other + token.slice(index + 1), keys)).toBeUndefined();
      expect(readCallbackToken(token.slice(0, index), keys)).toBeUndefined();
    }
    for (const longer of [`${token}A`, `${token}=`, `${token}.x`, `x.${token}`, ` ${token}`]) {
      expect(readCallbackToken(longer, keys)).toBeUndefined();
    }
  });

  it('is accepted with the previous key, and rejected once that is gone', () => {
    const token = tokenOf(firstKey);
    expect(readCallbackToken(token, parseCallbackKeys(`${secondKey}\n${firstKey}\n`))).toEqual(submission);
    expect(readCallbackToken(token, parseCallbackKeys(secondKey))).toBeUndefined();
  });

  it.each([
    'ftp://a.example',
    'https://user:pass@a.example',
    'https://a.example/?x',
    'a.example',
    'https://a.example#b',
  ])("can't have a base like %s", (baseUrl) => expect(isBaseUrl(baseUrl)).toBe(false));
});

describe('the keys', () => {
  it.each(['', ' \n', 'too-short', `${firstKey} short`, `${firstKey} ${secondKey} ${firstKey}`])(
    'are rejected without being repeated when they are %j',
    (text) => {
      expect(() => parseCallbackKeys(text)).toThrow(CallbackKeyError);
      expect(() => parseCallbackKeys(text)).not.toThrow(/first|too-short/);
    },
  );

  it('do not show when they are printed or serialised', () => {
    const keys = parseCallbackKeys(`${firstKey} ${secondKey}`);
    expect(inspect(keys, { depth: 9 }) + JSON.stringify(keys)).not.toMatch(/first-key|second-key/);
  });

  describe('in a file', () => {
    let folder: string;
    beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'fileconv-key-'))));

    it('are created once, readable by their owner only, for any number of concurrent callers', async () => {
      const file = path.join(folder, 'state', 'callbacks.key');
      const texts = await Promise.all(Array.from({ length: 20 }, () => ensureCallbackKeyFile(file)));
      expect([new Set(texts).size, (await stat(file)).mode & 0o777]).toEqual([1, 0o600]);
      expect(await readFile(file, 'utf8')).toBe(texts[0]);
      expect(() => parseCallbackKeys(texts[0] ?? '')).not.toThrow();
    });

    it('are kept if the file exists', async () => {
      const file = path.join(folder, 'callbacks.key');
      await writeFile(file, firstKey);
      expect(await ensureCallbackKeyFile(file)).toBe(firstKey);
    });
  });
});
