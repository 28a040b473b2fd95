import { access, constants, statfs } from 'node:fs/promises';
import path from 'node:path';
import { confinements, versionsOf } from 'temporal-file-conversion-service/engines';
import { fileSize } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { embeddedCatalog, leavesEnginesToService } from '../formats/lookup';
import { broken, ok, reasonOf, skipped, type PartFinding } from './finding';

export async function checkEngines(context: CommandContext): Promise<PartFinding[]> {
  if (await leavesEnginesToService(context)) return [skipped('engines', 'those of the service that runs')];
  const states = embeddedCatalog(context).engineStates();
  const versions = await Promise.all(states.filter(({ isHere }) => isHere).map(({ engine }) => versionsOf(engine)));
  const here = new Set(versions.flat());
  const missing = states
    .filter(({ adds }) => adds > 0)
    .map(({ engine, adds }) => `${engine.name} would add ${adds} pairs of formats`);
  const says = [[...here].join(', '), ...missing].join('; ');
  return [
    here.size > 0
      ? ok('engines', says)
      : broken('engines', 'the embedded service converts nothing', 'See what to install: fileconv formats --engines'),
    ok('confinement', `conversions ${confinements()[0].says}`),
  ];
}

export async function checkDisk({ config }: CommandContext): Promise<PartFinding> {
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
  const least = fileSize(service.minFreeBytes);
  return broken(part, `${says}, less than service.min_free_bytes (${least})`, `Make room, ${another}`);
}

async function nearestFolder(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch {
    const parent = path.dirname(folder);
    return parent === folder ? folder : nearestFolder(parent);
  }
}
