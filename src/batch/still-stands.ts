import type { ConversionJobResult } from '../shared/job';
import { describeFile } from '../storage/describe';
import { openLocalSource } from '../storage/source';

/** Whether a job's source still is what it converted, and its output still is what it wrote. */
export async function stillStands(
  sourceUri: string,
  { source, output }: Pick<ConversionJobResult, 'source' | 'output'>,
): Promise<boolean> {
  if (!source || !output) return false;
  const written = await describeFile(output.uri).catch(() => undefined);
  if (written?.sha256 !== output.sha256) return false;
  const now = await openLocalSource(sourceUri).catch(() => undefined);
  if (now?.size !== source.bytes) return false;
  if (source.stamp !== undefined && now.stamp === source.stamp) return true;
  return (await describeFile(sourceUri).catch(() => undefined))?.sha256 === source.sha256;
}
