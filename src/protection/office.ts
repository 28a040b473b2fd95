import { openCompoundFile, type CompoundFile } from './compound-file';
import { opensByAgile, opensByLegacyRc4, opensByObfuscation, opensByProvider } from './office-passwords';
import type { ReadAt } from './read-at';

/** Excel and PowerPoint try these first, and use them for files only protected against changes ([MS-OFFCRYPTO] 2.4.2.3). */
const excelTries = 'VelvetSweatshop';
const powerPointTries = '/01Hannes Ruescher/01';

/** Limit of the search for FILEPASS, which few records may precede. */
const maxRecordsBefore = 8;
const filePass = 0x2f;
const biff8 = 0x0600;
const encryptedWord = 0x0100;
const encryptedPresentation = 0xf3d1c4df;

/** Whether a compound file is an Office document, old or new, that needs a password or rights. */
export async function isProtectedOffice(read: ReadAt): Promise<boolean> {
  const file = await openCompoundFile(read);
  if (file.has('\tDRMContent')) return true;
  if (file.has('EncryptedPackage')) return isProtectedPackage(file);
  if (file.has('WordDocument'))
    return ((await file.read('WordDocument', 0, 12)).readUInt16LE(10) & encryptedWord) !== 0;
  const workbook = ['Workbook', 'Book'].find((name) => file.has(name));
  if (workbook !== undefined) return isProtectedWorkbook(file, workbook);
  return file.has('PowerPoint Document') && isProtectedPresentation(file);
}

/** Office Open XML of any program. */
async function isProtectedPackage(file: CompoundFile): Promise<boolean> {
  // Protected by a rights service instead of a password.
  if (!file.has('EncryptionInfo')) return true;
  const info = await file.read('EncryptionInfo', 0, 64 * 1024);
  const [major, minor] = [info.readUInt16LE(0), info.readUInt16LE(2)];
  if (major === 4 && minor === 4) return !(await opensByAgile(info.toString('utf8', 8), excelTries));
  return minor === 2 && !(await opensByProvider(info, excelTries));
}

async function isProtectedWorkbook(file: CompoundFile, name: string): Promise<boolean> {
  const records = await file.read(name, 0, 4_096);
  const isBiff8 = records.readUInt16LE(4) === biff8;
  let at = 0;
  for (let record = 0; record < maxRecordsBefore; record += 1) {
    const [type, bytes] = [records.readUInt16LE(at), records.readUInt16LE(at + 2)];
    const content = records.subarray(at + 4, at + 4 + bytes);
    if (type === filePass) return !(await opensWorkbook(content, isBiff8));
    at += 4 + bytes;
  }
  return false;
}

function opensWorkbook(content: Buffer, isBiff8: boolean): boolean | Promise<boolean> {
  const info = content.subarray(isBiff8 ? 2 : 0);
  if (!isBiff8 || content.readUInt16LE(0) === 0) return opensByObfuscation(info, excelTries);
  if (info.readUInt16LE(0) === 1) return opensByLegacyRc4(info.subarray(4), excelTries);
  return opensByProvider(info, excelTries);
}

/** Follows the last edit to its encryption record ([MS-PPT] 2.3.3). */
async function isProtectedPresentation(file: CompoundFile): Promise<boolean> {
  const user = await file.read('Current User', 0, 20);
  if (user.readUInt32LE(12) !== encryptedPresentation) return false;
  const record = async (at: number, length: number) =>
    (await file.read('PowerPoint Document', at, 8 + length)).subarray(8);
  const edit = await record(user.readUInt32LE(16), 32);
  const encryption = edit.readUInt32LE(28);
  const directory = await record(edit.readUInt32LE(12), 64 * 1024);
  for (let at = 0; ;) {
    const [first, count] = [directory.readUInt32LE(at) & 0xfffff, directory.readUInt32LE(at) >>> 20];
    if (encryption >= first && encryption < first + count) {
      const offset = directory.readUInt32LE(at + 4 + 4 * (encryption - first));
      return !(await opensByProvider(await record(offset, 512), powerPointTries));
    }
    at += 4 + 4 * count;
  }
}
