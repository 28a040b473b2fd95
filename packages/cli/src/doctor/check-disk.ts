import { access, constants, statfs } from 'node:fs/promises';
import path from 'node:path';
import { fileSize } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { broken, ok, reasonOf, type Finding } from './finding';

/** Whether the state folder can be written, and has the free space that the service requires. */
export async function checkDisk({ config }: CommandContext): Promise<Finding> {
  const { state, service } = config.values;
  const part = 'disk';
  const folder = await nearestFolder(state.dir);
  const another = 'or keep the state elsewhere: FILECONV_STATE_DIR';
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    return broken(part, `${folder} can't be written: ${reasonOf(error)}`, `Allow it (chmod u+w ${folder}), ${another}`);
  }
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const says = `${fileSize(freeBytes)} free for ${state.dir}`;
  if (freeBytes > service.minFreeBytes) return ok(part, says);
  return broken(
    part,
    `${says}, less than service.min_free_bytes (${fileSize(service.minFreeBytes)})`,
    `Make room, ${another}`,
  );
}

/** The folder may not have been made yet. */
async function nearestFolder(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch {
    const parent = path.dirname(folder);
    return parent === folder ? folder : nearestFolder(parent);
  }
}
