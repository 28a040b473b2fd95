import type { InlineItem } from './types';
import { placeOf } from '../../job/types';
import { utf8Bytes } from '../../job/warnings';
import { fileSize } from '../../messages/wording';

const maxInlineItems = 500;
/** Limit for all inline items together: continue-as-new carries them and their results, and the server accepts 2 MB. */
const maxInlineBytes = 512_000;

/** Why these can't be the inline items of a batch. */
export function problemOfInline(items: readonly InlineItem[]): { field: string; problem: string } | undefined {
  if (items.length > maxInlineItems) {
    return { field: 'items', problem: `must be at most ${maxInlineItems} when they are inline, not ${items.length}` };
  }
  const bytes = utf8Bytes(JSON.stringify(items));
  if (bytes > maxInlineBytes) {
    const problem = `take ${fileSize(bytes)} together, and inline at most ${fileSize(maxInlineBytes)}. Write them to a manifest`;
    return { field: 'items', problem };
  }
  return repeatedDestination(items);
}

/** The first item with the destination of another, however it is spelled: one result would replace the other. */
function repeatedDestination(items: readonly InlineItem[]): { field: string; problem: string } | undefined {
  const takenBy = new Map<string, number>();
  for (const [index, { destination }] of items.entries()) {
    const place = placeOf(destination);
    const other = takenBy.get(place);
    if (other !== undefined) return { field: `items[${index}].destination`, problem: `is that of items[${other}] too` };
    takenBy.set(place, index);
  }
  return undefined;
}
