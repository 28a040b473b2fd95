import path from 'node:path';
import { credentialsProblem, decoded, holdsCredentials } from '../../job/types';
import { closestName } from '../../messages/wording';
import { cutToBytes, maxNameBytes, maxPathBytes, makeSafeName } from '../../storage/file-name';
import { shownPath } from '../../storage/file-uri';
import {
  asFolder,
  folderOf,
  holdsControlCharacter,
  isInside,
  isLocal,
  isOfWeb,
  isUri,
  nameOf,
  resolveName,
  shownAsWritten,
  shownFolder,
  within,
} from '../uris';

export interface DestinationRules {
  /** Absent: each result goes beside its source, or where the manifest says. */
  out: string | undefined;
  template: DestinationTemplate;
  /** File extension of a target format, without the dot. */
  extensionOf: (output: string) => string;
  /** Base of the manifest's relative destinations if there is no out folder. */
  manifestFolder: string | undefined;
  /** Whether a local path lies in the out folder once links are resolved. Absent: not checked. */
  isInOut?: ((folder: string) => Promise<boolean>) | undefined;
}

export interface DestinationRequest {
  source: string;
  dir: string;
  output: string;
  /** As written in the manifest. */
  destination?: string | undefined;
}

export type ResolvedDestination =
  | { uri: string; code?: never }
  /** `uri`: where the result would be, if known. */
  | { uri?: string; code: 'DESTINATION_INVALID' | 'DESTINATION_OUTSIDE'; problem: string };

/**
 * Where a row's result goes.
 *
 * A destination in the manifest is relative to the out folder, or without one to the manifest's folder, and must stay
 * inside. An absolute one must be inside the out folder if there is one. If it ends with `/`, it is a folder, and the
 * template gives the file name.
 */
export function resolveDestination(request: DestinationRequest, rules: DestinationRules): ResolvedDestination {
  const { destination } = request;
  if (destination === undefined) {
    if (rules.out === undefined && isOfWeb(request.source)) {
      return { code: 'DESTINATION_INVALID', problem: 'the web can only be read. Name a folder with --out.' };
    }
    const folder = rules.out ?? folderOf(request.source);
    return checkNames(within(folder, fill(request, rules, rules.out === undefined ? '' : request.dir)));
  }
  const base = rules.out ?? rules.manifestFolder ?? folderOf(request.source);
  const asked = resolveName(destination, base);
  if (asked === undefined) return { code: 'DESTINATION_INVALID', problem: notAName(destination) };
  const isFolder = /[/\\]$/.test(destination) || destination === '.';
  const resolved = isFolder ? within(asFolder(asked), path.basename(fill(request, rules, ''))) : asked;
  const mayBeAnywhere = rules.out === undefined && (isUri(destination) || path.isAbsolute(destination));
  if (!mayBeAnywhere && !isInside(base, resolved)) {
    const fix = `Name a file in there, or ${rules.out === undefined ? 'an absolute path' : 'leave out --out'}.`;
    return {
      uri: resolved,
      code: 'DESTINATION_OUTSIDE',
      problem: `${destination} is outside of ${shownFolder(base)}. ${fix}`,
    };
  }
  return checkNames(resolved);
}

function fill(
  { source, output }: DestinationRequest,
  { template, extensionOf }: DestinationRules,
  dir: string,
): string {
  const { name, ext } = nameOf(source);
  return template({ dir, name, ext: extensionOf(output), from: ext.slice(1).toLowerCase() });
}

export function notAName(written: string): string {
  const shown = shownAsWritten(written);
  if (holdsCredentials(written)) return `${shown} ${credentialsProblem}`;
  return `${shown} is not a file. Name a path, or a URI such as file:///srv/report.md.`;
}

function checkNames(uri: string): ResolvedDestination {
  const file = decoded(uri);
  if (holdsControlCharacter(file)) {
    const problem = `${JSON.stringify(shownPath(uri))} holds a control character. Remove it.`;
    return { uri, code: 'DESTINATION_INVALID', problem };
  }
  const names = isLocal(uri) ? file.split('/') : [];
  const tooLong = names.find((segment) => Buffer.byteLength(segment) > maxNameBytes);
  if (tooLong !== undefined) {
    const problem = `the name ${cutToBytes(tooLong, 60)}… is longer than ${maxNameBytes} bytes. Choose a shorter one.`;
    return { uri, code: 'DESTINATION_INVALID', problem };
  }
  if (isLocal(uri) && Buffer.byteLength(shownPath(uri)) > maxPathBytes) {
    const problem = `its path ${cutToBytes(shownPath(uri), 60)}… is longer than ${maxPathBytes} bytes. Choose a shorter one.`;
    return { uri, code: 'DESTINATION_INVALID', problem };
  }
  return { uri };
}

export interface TemplateValues {
  /** Folder of the source relative to the named one, with `/`; may be empty. */
  dir: string;
  name: string;
  ext: string;
  /** Extension of the source; empty if it has none. */
  from: string;
}

/** The result's path relative to the out folder, never outside of it. Names are kept where the system allows them. */
export type DestinationTemplate = (values: TemplateValues) => string;

export const defaultTemplate = '{dir}/{name}.{ext}';
const placeholders = ['dir', 'name', 'ext', 'from'] as const;

/** Parses a template such as `{dir}/{name}.{ext}`; returns the problem if it is invalid. */
export function parseTemplate(template: string): DestinationTemplate | { problem: string } {
  const placeholder = /\{([^{}]*)\}/g;
  if (/[{}]/.test(template.replace(placeholder, '')))
    return { problem: 'a brace is unmatched. Write placeholders as {name}.' };
  const known: readonly string[] = placeholders;
  for (const [, asked = ''] of template.matchAll(placeholder)) {
    if (!known.includes(asked)) return { problem: unknownPlaceholder(asked) };
  }
  if (/[/\\]$/.test(template) || template === '')
    return { problem: 'it does not end with a file name. Add {name}.{ext}' };
  if (path.isAbsolute(template))
    return { problem: 'it is absolute. Name the folder with --out, and the rest in the template.' };
  if (template.split('/').includes('..')) return { problem: 'it leaves the out folder. Leave out the dots.' };
  return (values) =>
    template
      .replace(placeholder, (_, name: keyof TemplateValues) => values[name])
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.')
      .map((segment) => (process.platform === 'win32' || segment === '..' ? makeSafeName(segment) : segment))
      .join('/');
}

function unknownPlaceholder(asked: string): string {
  const closest = closestName(asked, placeholders);
  const hint =
    closest === undefined
      ? `Known are ${placeholders.map((each) => `{${each}}`).join(', ')}.`
      : `Did you mean {${closest}}?`;
  return `there is no {${asked}}. ${hint}`;
}
