import { createCipheriv } from 'node:crypto';
import type { PdfDictionary } from './pdf-objects';
import { hash, rc4 } from './ciphers';

/** Fills up a shorter password (ISO 32000-2, 7.6.4.3). */
const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');

/** Whether the empty password opens a PDF, as it does if the owner only restricts printing and the like. @throws if unknown */
export function opensWithoutPassword(rules: PdfDictionary, id: Buffer): boolean {
  // Encrypted for certificates, or by a vendor's handler.
  if (rules.get('/Filter') !== '/Standard') return false;
  const version = Number(rules.get('/V'));
  // Only attachments are encrypted.
  if (version >= 4 && (rules.get('/StmF') ?? '/Identity') === '/Identity') return true;
  const revision = Number(rules.get('/R'));
  const user = text(rules, '/U');
  if (revision >= 5 && revision <= 6) {
    const salt = user.subarray(32, 40);
    return (revision === 5 ? hash('sha256', salt) : hardened(salt)).equals(user.subarray(0, 32));
  }
  if (!(revision >= 2 && revision <= 4))
    throw new RangeError('Has an unknown revision of the standard security handler.');
  // The length may be in bits, in bytes, or wrong, so several are tried.
  const declared = Number(rules.get('/Length') ?? 40);
  const lengths = new Set([declared / 8, declared, 5, 16].filter((bytes) => bytes >= 5 && bytes <= 16));
  return [...lengths].some((bytes) => opensByRc4(rules, { id, user, revision, bytes }));
}

/** Revisions 2 to 4 verify passwords this way, whatever encrypts the content: algorithms 2, 4, 5 and 6. */
function opensByRc4(
  rules: PdfDictionary,
  { id, user, revision, bytes }: { id: Buffer; user: Buffer; revision: number; bytes: number },
): boolean {
  const permissions = Buffer.alloc(4);
  permissions.writeInt32LE(Number(rules.get('/P')) | 0);
  const isMetadataPlain = revision >= 4 && rules.get('/EncryptMetadata') === false;
  const marks = isMetadataPlain ? Buffer.alloc(4, 255) : Buffer.alloc(0);
  let key = hash('md5', padding, text(rules, '/O').subarray(0, 32), permissions, id, marks);
  for (let round = 0; revision >= 3 && round < 50; round += 1) key = hash('md5', key.subarray(0, bytes));
  key = key.subarray(0, bytes);
  if (revision === 2) return rc4(key, padding).equals(user.subarray(0, 32));
  let expected = hash('md5', padding, id);
  for (let round = 0; round < 20; round += 1)
    expected = rc4(
      key.map((byte) => byte ^ round),
      expected,
    );
  return expected.equals(user.subarray(0, 16));
}

/** Hash of the empty password in revision 6: algorithm 2.B. */
function hardened(salt: Buffer): Buffer {
  let key = hash('sha256', salt);
  for (let round = 0, last = 0; round < 64 || last > round - 32; round += 1) {
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const encrypted = cipher.update(Buffer.concat(Array.from({ length: 64 }, () => key)));
    const remainder = encrypted.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = hash(['sha256', 'sha384', 'sha512'][remainder] ?? '', encrypted);
    last = encrypted.at(-1) ?? 0;
  }
  return key.subarray(0, 32);
}

function text(rules: PdfDictionary, key: string): Buffer {
  const value = rules.get(key);
  if (Buffer.isBuffer(value)) return value;
  throw new RangeError(`Has no ${key}.`);
}
