import { closeSync, lstatSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { systemCode } from './errors';

/**
 * Reserves a name for a rename by exclusively creating a file that states its purpose. A placeholder left by a killed process is reused
 * for the same purpose only. Returns false if the name is taken. Synchronous, so that nothing runs between it and the rename.
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
    // A full disk may have room for the name but not for the content, and an empty file would look like a result.
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
