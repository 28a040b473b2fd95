import { pathToFileURL } from 'node:url';
import type { FileStore } from '../../src/storage/file-store';
import { createLocalFiles } from '../../src/storage/local-files';

/** Files as another machine sees them: `view` tells the machines apart, and what all call `folder` lies in its own folder `disk`. */
export function machineWith({ view, folder, disk }: { view: string; folder: string; disk: string }): FileStore {
  const local = createLocalFiles();
  const [shown, real] = [folder, disk].map((each) => pathToFileURL(`${each}/`).href) as [string, string];
  const toReal = <T extends { uri: string }>(it: T): T => ({ ...it, uri: swap(it.uri, shown, real) });
  const toShown = <T extends { uri: string }>(it: T): T => ({ ...it, uri: swap(it.uri, real, shown) });
  const { sharing } = local;
  return {
    openSource: async (uri) => toShown(await local.openSource(swap(uri, shown, real))),
    prepareDestination: async (options) => toShown(await local.prepareDestination(toReal(options))),
    writeDestination: async (options) => toShown(await local.writeDestination(toReal(options))),
    discardPartial: (options) => local.discardPartial(toReal(options)),
    look: (uri) => local.look(swap(uri, shown, real)),
    read: (uri, options) => local.read(swap(uri, shown, real), options),
    async *walk(uri, options) {
      for await (const found of local.walk(swap(uri, shown, real), options)) yield toShown(found);
    },
    remove: (uri) => local.remove(swap(uri, shown, real)),
    ...(sharing && {
      sharing: {
        view,
        leaveMarker: (options) => sharing.leaveMarker(toReal(options)),
        seesMarker: (options) => sharing.seesMarker(toReal(options)),
        removeMarker: (options) => sharing.removeMarker(toReal(options)),
      },
    }),
  };
}

function swap(uri: string, from: string, to: string): string {
  return uri.startsWith(from) ? to + uri.slice(from.length) : uri;
}
