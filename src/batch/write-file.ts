import { Readable } from 'node:stream';
import type { OnExisting } from '../shared/policies';
import type { FileStore } from '../storage/file-store';

/** The writer's identity, as in `FileStore.writeDestination`. */
export interface Writing {
  jobKey: string;
  attempt: number;
  signal?: AbortSignal | undefined;
}

const chunkCharacters = 64 * 1024;

/** Writes text, given in pieces of any size, whole or not at all. */
export async function writeFile(
  files: FileStore,
  uri: string,
  text: Iterable<string> | AsyncIterable<string>,
  { writing, onExisting = 'overwrite' }: { writing: Writing; onExisting?: OnExisting },
): Promise<void> {
  await files.writeDestination({ ...writing, uri, onExisting, body: Readable.from(encoded(inChunks(text))) });
}

/** The same text in pieces of a size that is worth a write. */
export async function* inChunks(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let waiting: string[] = [];
  let characters = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < chunkCharacters) continue;
    yield waiting.join('');
    waiting = [];
    characters = 0;
  }
  yield waiting.join('');
}

async function* encoded(text: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const each of text) yield Buffer.from(each);
}
