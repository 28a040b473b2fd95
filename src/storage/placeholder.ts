import { closeSync, lstatSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { systemCode } from './errors';

/**
 * Reserves a name for a rename, by a file that is created exclusively and says what it is for. One that a killed process has left
 * is taken over for the same, and for nothing else. Returns false if the name is taken. Synchronous: nothing comes between it and the rename.
 */
export function reserve(filePath: string, purpose: string): boolean {
  let placeholder: number;
  try {
    placeholder = openSync(filePath, 'wx');
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    return isReserved(filePath, purpose);
  }
  try {
    writeFileSync(placeholder, purpose);
  } catch (error) {
    // On a full disk there is room for a name, and no more: an empty file would look like the one that is to come.
    unlinkSync(filePath);
    throw error;
  } finally {
    closeSync(placeholder);
  }
  return true;
}

export function isReserved(filePath: string, purpose: string): boolean {
  const found = lstatSync(filePath, { throwIfNoEntry: false });
  const mayBe = found?.isFile() === true && found.size === Buffer.byteLength(purpose);
  return mayBe && readFileSync(filePath, 'utf8') === purpose;
}
