import { createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { createEncryptedDataConverter } from '../../src/encryption/data-converter';
import {
  DecryptionError,
  EncryptionCodec,
  EncryptionKeyError,
  parseEncryptionKeys,
} from '../../src/encryption/encryption-codec';

const newKey = () => randomBytes(32).toString('base64');
const [oldKey, key] = [newKey(), newKey()];
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const textOf = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
const codecOf = (keys: string) => new EncryptionCodec(parseEncryptionKeys(keys));

async function errorOf(run: () => Promise<unknown>): Promise<Error> {
  const outcome = await run().catch((error: unknown) => error);
  if (!(outcome instanceof Error)) throw new Error('It did not fail.');
  return outcome;
}

describe('EncryptionCodec', () => {
  const codec = codecOf(`new:${key}`);

  it('decodes to the original payload, whatever that is', async () => {
    const payloads = ['résumé.docx', { a: [1] }, undefined, new Uint8Array([0, 255]), ''].map(payloadOf);
    expect(
      (await codec.decode(await codec.encode(payloads))).map((each) => defaultPayloadConverter.fromPayload(each)),
    ).toEqual(payloads.map((each) => defaultPayloadConverter.fromPayload(each)));
  });

  it("writes the encoding and the key id of Temporal's samples, and nonce, ciphertext and tag in this order", async () => {
    const payload = payloadOf('report.docx');
    const [encoded] = await codec.encode([payload]);
    expect(textOf(encoded?.metadata?.['encoding'])).toBe('binary/encrypted');
    expect(textOf(encoded?.metadata?.['encryption-key-id'])).toBe('new');
    const data = Buffer.from(encoded?.data ?? []);
    const secret = createSecretKey(Buffer.from(key, 'base64'));
    const decipher = createDecipheriv('aes-256-gcm', secret, data.subarray(0, 12)).setAuthTag(data.subarray(-16));
    const plain = Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]);
    expect(plain).toEqual(Buffer.from(temporal.api.common.v1.Payload.encode(payload).finish()));
  });

  it('uses a fresh nonce for each payload, so that the same text never looks the same', async () => {
    const encoded = await codec.encode(Array.from({ length: 200 }, () => payloadOf('report.docx')));
    expect(new Set(encoded.map(({ data }) => Buffer.from(data ?? []).toString('hex', 0, 12))).size).toBe(200);
    expect(encoded.some(({ data }) => textOf(data).includes('report'))).toBe(false);
  });

  it('encrypts with the first key and decrypts with every key, so that a rotation leaves histories readable', async () => {
    const written = await codecOf(`old:${oldKey}`).encode([payloadOf('report.docx')]);
    const rotated = codecOf(`new:${key}\nold:${oldKey}`);
    expect(textOf((await rotated.encode([payloadOf(1)]))[0]?.metadata?.['encryption-key-id'])).toBe('new');
    const [decoded] = await rotated.decode(written);
    expect(decoded && defaultPayloadConverter.fromPayload(decoded)).toBe('report.docx');
  });

  it('reads what was written before encryption was turned on', async () => {
    const payload = payloadOf('report.docx');
    expect(await codec.decode([payload])).toEqual([payload]);
  });

  it('names the missing key, the known keys, and what to do, without a stack', async () => {
    const written = await codecOf(`old:${oldKey}`).encode([payloadOf('report.docx')]);
    const error = await errorOf(() => codec.decode(written));
    expect(error).toBeInstanceOf(DecryptionError);
    expect(error.message).toBe(
      'This payload was encrypted with the key old, which is not among the keys here (new); add the line that begins with "old:" to the keys (encryption.key_file or key_env), after the current one.',
    );
    expect(error.stack).toBe(`DecryptionError: ${error.message}`);
  });

  it('reports that another key has the id, or that the payload was changed, and reveals neither key', async () => {
    const written = await codecOf(`new:${oldKey}`).encode([payloadOf('report.docx')]);
    const error = await errorOf(() => codec.decode(written));
    expect(error.message).toMatch(
      /^This payload was not encrypted with the key that is called new here, or was changed/,
    );
    for (const secret of [key, oldKey]) expect(inspect(error)).not.toContain(secret);
  });

  it.each([
    ['a byte', (data: Buffer) => data.fill(data.readUInt8(20) ^ 1, 20, 21)],
    ['the tag', (data: Buffer) => data.fill(0, data.length - 16)],
    ['its end', (data: Buffer) => data.subarray(0, -1)],
    ['nearly everything', (data: Buffer) => data.subarray(0, 20)],
  ])('rejects a payload if %s was changed', async (_what, change) => {
    const [encoded] = await codec.encode([payloadOf('report.docx')]);
    const changed = { ...encoded, data: change(Buffer.from(encoded?.data ?? [])) };
    await expect(codec.decode([changed])).rejects.toThrow(DecryptionError);
  });

  it('says without keys that encryption is off, and changes nothing', async () => {
    const off = new EncryptionCodec(undefined);
    const payload = payloadOf('report.docx');
    expect([await off.encode([payload]), await off.decode([payload])]).toEqual([[payload], [payload]]);
    expect((await errorOf(async () => off.decode(await codec.encode([payload])))).message).toBe(
      'This payload was encrypted with the key new, and encryption is off here; set encryption.key_file or key_env to the keys of the other processes.',
    );
  });

  it('repeats no control character of a foreign key id', async () => {
    const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('a\u001b[31m') };
    const error = await errorOf(() => codec.decode([{ metadata, data: new Uint8Array(40) }]));
    expect(error.message).toContain('the key a??31m,');
  });
});

it('no data converter is created from an unset variable: it would silently encrypt nothing', () => {
  const { KEYS_THAT_NOBODY_SET: keys = undefined as never } = process.env;
  expect(() => createEncryptedDataConverter(keys)).toThrow(EncryptionKeyError);
});

describe('parseEncryptionKeys', () => {
  it('takes the first key as the current one, separated by lines or spaces', () => {
    const keys = parseEncryptionKeys(`\n 2026-11:${key}  2026-05:${oldKey}\n`);
    expect([keys.current.id, [...keys.byId.keys()]]).toEqual(['2026-11', ['2026-11', '2026-05']]);
    expect(inspect(keys, { depth: 9 })).not.toContain(key);
  });

  it.each([
    ['nothing', ' \n', 'it is empty'],
    ['a variable that is not set', undefined, 'it is empty'],
    ['a key without an id', key, 'key 1 does not begin with an id and a colon'],
    ['an id with other signs', `a/b:${key}`, 'key 1 does not begin with an id and a colon'],
    ['a short key', `a:${randomBytes(16).toString('base64')}`, 'key a is not 32 bytes in base64; make one: openssl'],
    ['no base64', `a:${key.slice(0, -1)}!`, 'key a is not 32 bytes in base64'],
    ['one id twice', `a:${key} a:${oldKey}`, 'two keys have the id a; a new key needs a new id'],
  ])('rejects %s, and repeats nothing of a key', (_what, text, message) => {
    let problem: unknown;
    try {
      parseEncryptionKeys(text);
    } catch (error) {
      problem = error;
    }
    expect(problem).toBeInstanceOf(EncryptionKeyError);
    expect(String(problem)).toContain(message);
    expect(String(problem)).not.toContain(key.slice(0, 20));
  });
});
