import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { fileconv, newFolder, parseJson, type CommandOptions } from './fileconv';
import { noisyPng } from './samples';
import { until } from '../../../test/support/until';

/** File name of the nth picture without extension: `p007`. */
const pictureName = (n: number) => `p${String(n).padStart(3, '0')}`;

/** A new folder whose subfolder `in` holds `count` small pictures, all with different content. */
export async function folderWithPictures(count: number): Promise<string> {
  const folder = await newFolder();
  await mkdir(path.join(folder, 'in'));
  for (let n = 1; n <= count; n += 1) await writePicture(folder, n);
  return folder;
}

/** Writes the nth picture; each `version` has different content. */
export async function writePicture(folder: string, n: number, version = 0): Promise<void> {
  // Decoders ignore bytes after the last chunk of a PNG.
  const mark = Buffer.from(`${n}.${version}`);
  await writeFile(path.join(folder, 'in', `${pictureName(n)}.png`), Buffer.concat([noisyPng(8), mark]));
}

/** Waits for at least `wanted` results. @returns the numbers of the converted pictures. */
export async function convertedPictures(folder: string, { total, wanted }: { total: number; wanted: number }) {
  const all = Array.from({ length: total }, (_, index) => index + 1);
  const converted = () => all.filter((n) => existsSync(path.join(folder, 'out', `${pictureName(n)}.gif`)));
  await until(`${wanted} results`, () => converted().length >= wanted);
  return converted();
}

const tasksSchema = z.object({ tasks: z.array(z.object({ endpoint: z.string() })) });

/** Number of convert requests that the stack's service has accepted. */
export async function countConvertRequests(options: CommandOptions): Promise<number> {
  const { stdout } = await fileconv(['service', 'tasks', 'list', '--json', '--limit', '1000000'], options);
  return tasksSchema.parse(parseJson(stdout)).tasks.filter(({ endpoint }) => endpoint === 'v1/convert/file').length;
}
