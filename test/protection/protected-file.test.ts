import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { isProtected } from '../../src/protection/protected-file';
import { compound, numbers, presentation, providerInfo, workbook } from './made-files';

const samples = path.join(__dirname, 'samples');
const sample = (name: string) => readFileSync(path.join(samples, name));

/** Also counts the reads and their bytes. */
async function look(content: Buffer): Promise<{ isIt: boolean; reads: number; bytes: number }> {
  let [reads, bytes] = [0, 0];
  const readAt = (start: number, length: number) => {
    reads += 1;
    bytes += length;
    return Promise.resolve(content.subarray(start, start + length));
  };
  return { isIt: await isProtected({ size: content.length, readAt }), reads, bytes };
}

// Written by LibreOffice (doc, xls, odt, ods), msoffcrypto-tool (docx, xlsx) and qpdf (pdf, of revisions 2 to 6, with tables and with
// object streams, linearized or not). `restricted` has only the owner's password, `velvet` the one that Excel tries automatically.
it.each(readdirSync(samples))('%s', async (name) => {
  expect((await look(sample(name))).isIt).toBe(name.startsWith('locked'));
});

const xor = (key: number, verifier: number) => numbers(2, 0, key, verifier);
const excels = 'VelvetSweatshop';
const powerPoints = '/01Hannes Ruescher/01';
const rights = { EncryptedPackage: Buffer.alloc(600) };
const agile = (keys: string) => Buffer.concat([numbers(2, 4, 4, 0x40, 0), Buffer.from(keys.padEnd(4_096))]);
const forCertificate = '<c:encryptedKey encryptedKeyValue="AAAA" X509Certificate="AAAA" certVerifier="AAAA"/>';
const forPassword =
  '<p:encryptedKey spinCount="1" saltSize="1" blockSize="16" keyBits="128" hashSize="20" cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="SHA1" saltValue="AAAA" encryptedVerifierHashInput="AAAAAAAAAAAAAAAAAAAAAA==" encryptedVerifierHashValue="AAAAAAAAAAAAAAAAAAAAAA=="/>';

it.each([
  ['a presentation', presentation('secret'), true],
  ['a presentation that is protected against changes', presentation(powerPoints), false],
  ['a presentation without protection', presentation(), false],
  ['a package of 2007', compound({ ...rights, EncryptionInfo: providerInfo('secret', 'aes') }), true],
  ['a package of 2007 that Excel opens', compound({ ...rights, EncryptionInfo: providerInfo(excels, 'aes') }), false],
  ['a package with rights in place of a password', compound(rights), true],
  [
    'a document with rights in place of a password',
    compound({ WordDocument: Buffer.alloc(12), '\tDRMContent': rights.EncryptedPackage }),
    true,
  ],
  ['a package for a certificate alone', compound({ ...rights, EncryptionInfo: agile(forCertificate) }), true],
  [
    'a package for a certificate, and for a password after it',
    compound({ ...rights, EncryptionInfo: agile(forCertificate + forPassword) }),
    true,
  ],
  ['a package of an unknown kind', compound({ ...rights, EncryptionInfo: numbers(2, 4, 3, 0, 0) }), false],
  ['a workbook with RC4', workbook(Buffer.concat([numbers(2, 1), providerInfo('secret', 'rc4')])), true],
  [
    'a workbook with RC4 that Excel opens',
    workbook(Buffer.concat([numbers(2, 1), providerInfo(excels, 'rc4')])),
    false,
  ],
  ['an obfuscated workbook', workbook(xor(0x1234, 0x5678)), true],
  // As found in real files.
  ['an obfuscated workbook that Excel opens', workbook(xor(0xb359, 0x9a0a)), false],
  ['an obfuscated workbook of Excel 5', workbook(numbers(2, 0x1234, 0x5678), 5), true],
  ['a workbook without protection', workbook(undefined), false],
  [
    'a document with a protected workbook in it',
    compound({ WordDocument: Buffer.alloc(12) }, { EncryptedPackage: Buffer.alloc(8) }),
    false,
  ],
  ['a compound file of another program', compound({ Contents: Buffer.alloc(9) }), false],
])('%s', async (_what, content, isIt) => expect((await look(content)).isIt).toBe(isIt));

it.each([
  ['certificates', '<< /Filter /Adobe.PubSec /V 4 /Recipients [<00>] >>', true],
  ['an unknown revision', '<< /Filter /Standard /V 9 /R 9 /U () /O () /StmF /A >>', false],
  ['attachments alone', '<< /Filter /Standard /V 4 /R 4 /StmF /Identity /U (x) /O (x) >>', false],
  ['nothing', 'null', false],
  ['rules that are missing', '7 0 R', false],
])('a PDF encrypted with %s', async (_what, rules, isIt) => {
  const file = `junk\n%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Encrypt ${rules} /ID [<00> (\\(\\0)] >>\nstartxref\n9\n%%EOF`;
  expect((await look(Buffer.from(file, 'latin1'))).isIt).toBe(isIt);
});

// As where a signature or a filled form was appended, or the pages before it are large.
it.each([100_000, 131_004, 900_000])('a PDF whose encryption is described far from both its ends (%d)', async (at) => {
  const rules = '7 0 obj\n<< /Filter /Adobe.PubSec /Recipients [<00>] >>\nendobj\n';
  const body = `${'%PDF-1.7\n'.padEnd(at, '%')}\n${rules}`.padEnd(at + 200_000, '%');
  const end = `\nxref\n0 0\ntrailer\n<< /Encrypt 7 0 R >>\nstartxref\n${body.length + 1}\n%%EOF`;
  expect((await look(Buffer.from(body + end, 'latin1'))).isIt).toBe(true);
});

it('a file of another kind takes one read of a few kilobytes, and a large PDF or document not much more', async () => {
  for (const start of ['# A text', '\x89PNG', 'PK\x03\x04']) {
    expect(await look(Buffer.from(start.padEnd(100_000, ' '), 'latin1'))).toMatchObject({
      isIt: false,
      reads: 1,
      bytes: 4_096,
    });
  }
  const table = Array.from({ length: 50_000 }, () => '0000000009 00000 n \n').join('');
  const pdf = Buffer.from(`%PDF-1.7\nxref\n0 50000\n${table}trailer\n<< /Size 50000 >>\nstartxref\n9\n%%EOF`, 'latin1');
  expect(await look(pdf)).toMatchObject({ isIt: false, reads: 3 });
});

it('is not slowed down by malicious files', async () => {
  const comments = Buffer.from(`%PDF-1.7\nxref\ntrailer ${'% '.repeat(30)}\n)\nstartxref\n9\n%%EOF`, 'latin1');
  const deep = Buffer.from(`%PDF-1.7\nxref\ntrailer ${'[<<'.repeat(900)}\nstartxref\n9\n%%EOF`, 'latin1');
  // Endless chains of sectors, in streams declared as small and as large.
  const endless = compound({ EncryptedPackage: Buffer.alloc(9), EncryptionInfo: Buffer.alloc(9_000) });
  endless.fill(numbers(4, 1), endless.length - 512);
  // A circular list of the table's sectors, and entries far down in that table.
  const circle = Buffer.alloc(3 * 512);
  compound({}).copy(circle, 0, 0, 48);
  circle.writeUInt32LE(0xfffffff9, 48);
  circle.fill(numbers(4, 1), 512, 1_020);
  circle.fill(numbers(4, 0xfffffff9), 1_024);
  const began = Date.now();
  for (const content of [comments, deep, endless, circle]) expect((await look(content)).isIt).toBe(false);
  expect(Date.now() - began).toBeLessThan(5_000);
});

it('no damage causes an error, a false positive or endless reading', async () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (const name of readdirSync(samples).filter((each) => each.startsWith('plain'))) {
    const whole = sample(name);
    for (let round = 0; round < 40; round += 1) {
      const damaged = Buffer.from(whole.subarray(0, round % 2 === 0 ? whole.length : random(whole.length)));
      for (let change = 0; change < 20; change += 1) damaged[random(damaged.length || 1)] = random(256);
      const { isIt, bytes } = await look(damaged);
      expect({ name, round, isIt }).toEqual({ name, round, isIt: false });
      expect(bytes).toBeLessThan(5_000_000);
    }
  }
});
