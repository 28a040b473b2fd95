import path from 'node:path';
import { closestName } from '../../shared/closest-name';
import { makeSafeName } from '../../storage/file-name';

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
type Part = { text: string } | { placeholder: (typeof placeholders)[number] };

/** Parses a template such as `{dir}/{name}.{ext}`; returns what is wrong with it if it is invalid. */
export function parseTemplate(template: string): DestinationTemplate | { problem: string } {
  const parts: Part[] = [];
  for (const piece of template.split(/(\{[^{}]*\})/)) {
    const [, asked] = /^\{(.*)\}$/s.exec(piece) ?? [];
    if (asked === undefined) {
      if (/[{}]/.test(piece)) return { problem: 'a brace has no partner. Write placeholders as {name}.' };
      parts.push({ text: piece });
      continue;
    }
    const placeholder = placeholders.find((known) => known === asked);
    if (placeholder === undefined) return { problem: unknownPlaceholder(asked) };
    parts.push({ placeholder });
  }
  if (/[/\\]$/.test(template) || template === '')
    return { problem: 'it ends with no name for the file. Add {name}.{ext}' };
  if (path.isAbsolute(template))
    return { problem: 'it is absolute. Name the folder with --out, and the rest in the template.' };
  if (template.split('/').includes('..')) return { problem: 'it leaves the out folder. Leave out the dots.' };
  return (values) =>
    parts
      .map((part) => ('text' in part ? part.text : values[part.placeholder]))
      .join('')
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
