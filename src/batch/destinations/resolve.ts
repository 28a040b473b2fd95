import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cutToBytes, maxNameBytes } from '../../storage/file-name';
import type { DestinationTemplate } from './template';

export interface DestinationRules {
  /** Absolute path; absent: each result goes beside its source, or where the manifest says. */
  out: string | undefined;
  template: DestinationTemplate;
  /** File extension of a target format, without the dot. */
  extensionOf: (output: string) => string;
  /** Base of the manifest's relative destinations if there is no out folder. */
  manifestFolder: string | undefined;
}

export interface DestinationRequest {
  /** Absolute path. */
  source: string;
  dir: string;
  output: string;
  /** As written in the manifest. */
  destination?: string | undefined;
}

export type ResolvedDestination =
  { path: string } | { code: 'DESTINATION_INVALID' | 'DESTINATION_OUTSIDE'; problem: string };

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
    const folder = rules.out ?? path.dirname(request.source);
    return checkNames(path.join(folder, fill(request, rules, rules.out === undefined ? '' : request.dir)));
  }
  const asked = toPath(destination);
  if (typeof asked !== 'string') return asked;
  const base = rules.out ?? rules.manifestFolder ?? path.dirname(request.source);
  const named = /[/\\]$/.test(asked) || asked === '.' ? `${asked}/${path.basename(fill(request, rules, ''))}` : asked;
  const resolved = path.resolve(base, named);
  const mayBeAnywhere = rules.out === undefined && path.isAbsolute(named);
  if (!mayBeAnywhere && !isInside(base, resolved)) {
    const cure =
      rules.out === undefined
        ? 'Name a file in there, or an absolute path.'
        : 'Name a file in there, or leave out --out.';
    return { code: 'DESTINATION_OUTSIDE', problem: `${destination} is outside of ${base}. ${cure}` };
  }
  return checkNames(resolved);
}

/** Whether a path is below a folder. */
export function isInside(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

function fill(
  { source, output }: DestinationRequest,
  { template, extensionOf }: DestinationRules,
  dir: string,
): string {
  const { name, ext } = path.parse(source);
  return template({ dir, name, ext: extensionOf(output), from: ext.slice(1).toLowerCase() });
}

function toPath(destination: string): string | { code: 'DESTINATION_INVALID'; problem: string } {
  if (!/^[a-z][a-z0-9+.-]+:\//i.test(destination)) return destination;
  try {
    return fileURLToPath(destination);
  } catch {
    return {
      code: 'DESTINATION_INVALID',
      problem: `${destination} is no file. Name a path, or a file: URI of this machine.`,
    };
  }
}

function checkNames(file: string): ResolvedDestination {
  if (/(?![\u0080-\u009f])\p{Cc}/u.test(file)) {
    return { code: 'DESTINATION_INVALID', problem: `${JSON.stringify(file)} holds a control character. Remove it.` };
  }
  const tooLong = file.split(path.sep).find((segment) => Buffer.byteLength(segment) > maxNameBytes);
  if (tooLong !== undefined) {
    const problem = `the name ${cutToBytes(tooLong, 60)}… is longer than ${maxNameBytes} bytes. Choose a shorter one.`;
    return { code: 'DESTINATION_INVALID', problem };
  }
  return { path: file };
}
