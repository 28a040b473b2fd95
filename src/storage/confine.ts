import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { cannotRead, cannotWrite, systemCode } from './errors';
import type { FileStore, MoveOptions } from './file-store';
import { toPath } from './file-uri';

/**
 * Restricts a store for `file:` URIs to these folders, also for paths through links. Compares the real path of a source, or of a
 * result's folder: before the temporary file is made and again before the result gets its name.
 */
export function confine(store: FileStore, roots: readonly string[]): FileStore {
  const why = `it leads out of the folders that this worker may use: ${roots.join(', ')}.`;
  const mayRead = async (uri: string) => {
    if (!(await leadsInto(roots, toPath(uri)))) throw cannotRead(uri, { code: 'SOURCE_UNREADABLE', why });
  };
  const mayWrite = async (uri: string) => {
    // A link in the result's place is replaced, not followed.
    if (await leadsInto(roots, uri.endsWith('/') ? toPath(uri) : path.dirname(toPath(uri)))) return;
    throw cannotWrite(uri, { code: 'DESTINATION_NOT_WRITABLE', why });
  };
  const move = store.move?.bind(store);
  return {
    ...store,
    async openSource(uri) {
      await mayRead(uri);
      return store.openSource(uri);
    },
    async prepareDestination(options) {
      await mayWrite(options.uri);
      return store.prepareDestination(options);
    },
    async writeDestination(options) {
      const { uri, mayCommit } = options;
      await mayWrite(uri);
      let isChecked = false;
      return store.writeDestination({
        ...options,
        mayCommit() {
          if (isChecked) return mayCommit?.();
          isChecked = true;
          return mayWrite(uri);
        },
      });
    },
    async sweepPartial(folder, options) {
      if (await leadsInto(roots, toPath(folder))) await store.sweepPartial?.(folder, options);
    },
    async look(uri) {
      const isOutside = !(await leadsInto(roots, toPath(uri)));
      return isOutside
        ? { kind: 'none', reason: 'may not be used here', isLink: false, isUnseen: true }
        : store.look(uri);
    },
    read: (uri, options) =>
      Readable.from(
        (async function* () {
          await mayRead(uri);
          yield* store.read(uri, options) as AsyncIterable<Buffer>;
        })(),
      ),
    async *walk(folder, options) {
      await mayRead(folder);
      for await (const file of store.walk(folder, options)) {
        if (await leadsInto(roots, toPath(file.uri))) yield file;
        else options?.onUnreadable?.(file.relative, 'leads to where this worker may not look');
      }
    },
    async remove(uri) {
      await mayWrite(uri);
      return store.remove(uri);
    },
    ...(move && {
      async move(options: MoveOptions) {
        for (const uri of [options.uri, options.to]) await mayWrite(uri);
        return move(options);
      },
    }),
  };
}

/** Whether the real path, with all links resolved, lies in one of the folders. The end of the path may not exist yet. */
export async function leadsInto(roots: readonly string[], file: string): Promise<boolean> {
  const real = await realPathOf(file);
  for (const root of roots) {
    const relative = path.relative(await realPathOf(root), real);
    if (relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)) return true;
  }
  return false;
}

async function realPathOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    const parent = path.dirname(file);
    if (!['ENOENT', 'ENOTDIR'].includes(systemCode(error)) || parent === file) return file;
    return path.join(await realPathOf(parent), path.basename(file));
  }
}
