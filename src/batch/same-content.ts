import type { SourceContent } from '../shared/job';
import { hashFile } from './hash-file';
import { look } from './plan/look';

/** The file as it is now, when it has this content. Read only when its stamp is another. */
export async function sameContent(
  file: string,
  content: SourceContent,
  signal?: AbortSignal,
): Promise<SourceContent | undefined> {
  const before = await look(file);
  if (before.kind !== 'file' || before.bytes !== content.bytes) return undefined;
  const { stamp } = before;
  if (content.stamp === stamp) return content;
  if ((await hashFile(file, signal))?.sha256 !== content.sha256) return undefined;
  const after = await look(file);
  return after.kind === 'file' && after.stamp === stamp ? { ...content, stamp } : undefined;
}
