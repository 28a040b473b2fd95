import { createDecipheriv } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { hash, rc4 } from './ciphers';

/** Checks whether a password opens a file encrypted by Office, for each method of [MS-OFFCRYPTO]. All throw on unknown input. */

/** More rounds would occupy a worker for longer than the check is worth; Office uses 100,000. */
const maxSpins = 1_000_000;
const spinsBetweenPauses = 5_000;

const utf16 = (password: string) => Buffer.from(password, 'utf16le');
/** Cuts or pads to a length. */
const sized = (bytes: Buffer, length: number, filler: number) =>
  Buffer.concat([bytes, Buffer.alloc(length, filler)]).subarray(0, length);

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

async function spun(algorithm: string, start: Buffer, spins: number): Promise<Buffer> {
  if (!(spins <= maxSpins)) throw new RangeError('Takes too long to try a password.');
  let result = start;
  for (let spin = 0; spin < spins; spin += 1) {
    result = hash(algorithm, number(spin), result);
    if (spin % spinsBetweenPauses === 0) await setImmediate();
  }
  return result;
}

/** XOR obfuscation (2.3.7.1): the key, then a checksum of the password. */
export function opensByObfuscation(content: Buffer, password: string): boolean {
  const bytes = Buffer.from(password, 'latin1');
  const checksum = [bytes.length, ...bytes].reverse().reduce((sum, byte) => {
    return ((sum >> 14) & 1) ^ ((sum << 1) & 0x7fff) ^ byte;
  }, 0);
  return content.readUInt16LE(2) === (checksum ^ 0xce4b);
}

/** 40-bit RC4 (2.3.6): salt, verifier, and its hash. */
export function opensByLegacyRc4(content: Buffer, password: string): boolean {
  const short = hash('md5', utf16(password)).subarray(0, 5);
  const salted = Buffer.concat([short, content.subarray(0, 16)]);
  const intermediate = hash('md5', ...Array.from({ length: 16 }, () => salted)).subarray(0, 5);
  const plain = rc4(hash('md5', intermediate, number(0)), content.subarray(16, 48));
  return hash('md5', plain.subarray(0, 16)).equals(plain.subarray(16));
}

/** RC4 or AES of a cryptographic provider (2.3.4 and 2.3.5): the version, then header and verifier. */
export async function opensByProvider(info: Buffer, password: string): Promise<boolean> {
  const headerBytes = info.readUInt32LE(8);
  const header = info.subarray(12, 12 + headerBytes);
  const verifier = info.subarray(12 + headerBytes);
  const isRc4 = header.readUInt32LE(8) === 0x6801;
  const keyBytes = (header.readUInt32LE(16) || 40) / 8;
  const encrypted = verifier.subarray(20, 36);
  const encryptedHash = verifier.subarray(40, isRc4 ? 60 : 72);
  const start = hash('sha1', verifier.subarray(4, 20), utf16(password));
  if (isRc4) {
    const key = hash('sha1', start, number(0)).subarray(0, keyBytes);
    const plain = rc4(keyBytes === 5 ? sized(key, 16, 0) : key, Buffer.concat([encrypted, encryptedHash]));
    return hash('sha1', plain.subarray(0, 16)).equals(plain.subarray(16));
  }
  const final = hash('sha1', await spun('sha1', start, 50_000), number(0));
  const filled = sized(final, 64, 0);
  const mixed = [0x36, 0x5c].map((filler) => hash('sha1', Buffer.from(filled.map((byte) => byte ^ filler))));
  const key = Buffer.concat(mixed).subarray(0, keyBytes);
  const decipher = createDecipheriv(`aes-${keyBytes * 8}-ecb`, key, null).setAutoPadding(false);
  const plain = decipher.update(Buffer.concat([encrypted, encryptedHash]));
  return hash('sha1', plain.subarray(0, 16)).equals(plain.subarray(16, 36));
}

/** Agile encryption (2.3.4.10 to 2.3.4.13), described in XML. */
export async function opensByAgile(xml: string, password: string): Promise<boolean> {
  // A certificate has an element of this name too, but no spins.
  const key = /<(?:[\w.-]+:)?encryptedKey\b[^<>]*\bspinCount=[^>]*/.exec(xml)?.[0];
  if (key === undefined) return false;
  const text = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(key)?.[1] ?? '';
  const bytes = (name: string) => Buffer.from(text(name), 'base64');
  const algorithm = text('hashAlgorithm').replace('-', '').toLowerCase();
  const keyBits = Number(text('keyBits'));
  const salt = bytes('saltValue');
  const secret = await spun(algorithm, hash(algorithm, salt, utf16(password)), Number(text('spinCount')));
  const decrypted = (name: string, blockKey: string) => {
    const derived = sized(hash(algorithm, secret, Buffer.from(blockKey, 'hex')), keyBits / 8, 0x36);
    const iv = sized(salt, Number(text('blockSize')), 0x36);
    const mode = text('cipherChaining') === 'ChainingModeCFB' ? 'cfb' : 'cbc';
    const cipher = createDecipheriv(`${text('cipherAlgorithm').toLowerCase()}-${keyBits}-${mode}`, derived, iv);
    return cipher.setAutoPadding(false).update(bytes(name));
  };
  const input = decrypted('encryptedVerifierHashInput', 'fea7d2763b4b9e79').subarray(0, salt.length);
  const expected = hash(algorithm, input);
  return decrypted('encryptedVerifierHashValue', 'd7aa0f6d3061344e').subarray(0, expected.length).equals(expected);
}
