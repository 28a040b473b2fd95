import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { decoded, holdsCredentials, lastSegment, outputName, sourceName, withoutSecrets } from '../job/types';
import { makeSafeName } from '../storage/file-name';
import type { JobPlace } from './model/activities';
import { shownPath } from '../storage/file-uri';

/*
 * Batches identify every file by its URI, in one spelling; the URI of a folder ends with `/`. What users type and what messages
 * show are paths where possible.
 */

/** Only local systems have real folders, and may ignore the case of names. */
export function isLocal(uri: string): boolean {
  return uri.startsWith('file:');
}

export function asFolder(uri: string): string {
  return uri.endsWith('/') ? uri : `${uri}/`;
}

/** The URI of an absolute path; a slash at its end is kept. */
export function uriOfPath(absolute: string): string {
  return pathToFileURL(absolute).href;
}

/** A folder in messages: its path, without a slash at its end, or its URI. */
export function shownFolder(uri: string): string {
  return isLocal(uri) ? shownPath(uri.slice(0, -1)) : uri;
}

/** The parent folder; a root is its own parent. */
export function folderOf(uri: string): string {
  const end = uri.lastIndexOf('/', uri.length - 2) + 1;
  return end <= rootEnd(uri) ? uri.slice(0, rootEnd(uri)) : uri.slice(0, end);
}

/** The extension of a URI in lower case; empty if there is none. */
export function extensionOf(uri: string): string {
  return (/\.([^./]+)$/.exec(lastSegment(uri))?.[1] ?? '').toLowerCase();
}

/** Name and extension, with its dot. */
export function nameOf(uri: string): { name: string; ext: string } {
  return path.parse(lastSegment(uri));
}

export function isInside(folder: string, uri: string): boolean {
  return uri.length > folder.length && uri.startsWith(folder);
}

export function relativeTo(folder: string, uri: string): string {
  return decoded(uri.slice(folder.length));
}

/** URI of a relative path in a folder. The path must not contain `..`. */
export function within(folder: string, relative: string): string {
  if (!isLocal(folder)) return folder + relative.split('/').map(encodeURIComponent).join('/');
  return folder + pathToFileURL(`/${relative}`, { windows: false }).href.slice('file:///'.length);
}

/** Where a job's result goes, by which the job is named: into a folder, whose URI ends with a slash, under the name of the source. */
export function resultUri({ source, output, destination }: JobPlace): string {
  if (!destination.endsWith('/')) return destination;
  return within(destination, makeSafeName(outputName(sourceName(source), output)));
}

/** URI of what a user wrote, a path or a URI, relative to a folder; undefined if it is neither. */
export function resolveName(written: string, folder: string): string | undefined {
  if (isUri(written)) return inOneSpelling(written);
  if (path.isAbsolute(written)) return uriOfPath(written);
  const root = folder.slice(0, rootEnd(folder));
  const joined = path.posix.join('/', relativeTo(root, folder), written);
  return within(root, joined.slice(1));
}

/** What a user wrote, for messages: without the query of a signed web address, which is a secret. */
export function shownAsWritten(written: string): string {
  return isOfWeb(written) || holdsCredentials(written) ? withoutSecrets(written) : written;
}

export function isOfWeb(uri: string): boolean {
  return /^https?:/i.test(uri);
}

export function isUri(written: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\//i.test(written);
}

/** Results must not have such names. */
export function holdsControlCharacter(name: string): boolean {
  return /(?![\u0080-\u009f])\p{Cc}/u.test(name);
}

/** Outside the web, `?` and `#` are ordinary characters of a name. */
export function escapeQuerySigns(uri: string): string {
  return isOfWeb(uri) ? uri : uri.replace(/[?#]/g, encodeURIComponent);
}

function inOneSpelling(uri: string): string | undefined {
  if (holdsCredentials(uri)) return undefined;
  try {
    const url = new URL(escapeQuerySigns(uri));
    if (url.protocol === 'file:') return uriOfPath(fileURLToPath(url));
    // A web address stays as it is: other escapes could name another path, and its query may be signed.
    if (isOfWeb(url.protocol)) return url.href;
    const [first = '', ...segments] = url.pathname.split('/');
    const account = url.username && `${url.username}@`;
    return `${url.protocol}//${account}${url.host}${[first, ...segments.map(decoded).map(encodeURIComponent)].join('/') || '/'}`;
  } catch {
    return undefined;
  }
}

/** Index after the slash that begins the path. */
function rootEnd(uri: string): number {
  return uri.indexOf('/', uri.indexOf('://') + 3) + 1;
}

interface Places {
  /** The folder requested for the runs of all batches. */
  runs?: string | undefined;
  /** Folder of the results, as written. If it is in a store, the runs go into a hidden folder there. */
  out?: string | undefined;
  /** Other names in the batch. Without `out`, the runs go beside the first that is in a store. */
  sources?: readonly (string | undefined)[];
  /** Default folder for the runs. */
  home: string;
}

/** The folder that holds the runs of a batch: manifests, results, reports. Workers read and write it too. */
export function batchFolderOf(name: string, { runs, out, sources = [], home }: Places): string {
  const stored = out === undefined ? folderOfSources(sources) : isStored(out) && asFolder(resolveName(out, out) ?? out);
  return `${runs ?? (stored ? `${stored}.fileconv/batches/` : home)}${encodeURIComponent(name)}/`;
}

function folderOfSources(sources: readonly (string | undefined)[]): string | undefined {
  const stored = sources.find(isStored);
  if (stored === undefined) return undefined;
  // The last folder before a pattern.
  const [typed = ''] = stored.split(/[*[{(]/, 1);
  const literal = resolveName(typed, stored) ?? typed;
  return literal.endsWith('/') ? literal : folderOf(literal);
}

function isStored(named: string | undefined): named is string {
  return named !== undefined && isUri(named) && !isLocal(named) && !isOfWeb(named);
}
