/** The formats of `account-service.ts`, described like `png` in the public pages. */

export interface Format {
  /** `extension`, or `extension-type`. */
  readonly format: string;
  readonly extension: string;
  readonly type: string | null;
  readonly name: string;
  readonly title: string;
  readonly categories: readonly string[];
  readonly kind: 'image' | 'document';
  readonly isInput: boolean;
  readonly isOutput: boolean;
}

function format(name: string, fullName: string, kind: Format['kind'], ends: 'both' | 'in' | 'out' = 'both'): Format {
  const [extension = '', type = null] = name.split('-');
  return {
    ...{ format: name, extension, type, kind },
    name: fullName,
    title: `${fullName} (${name.toUpperCase()})`,
    categories: [kind],
    isInput: ends !== 'out',
    isOutput: ends !== 'in',
  };
}

export const formats: readonly Format[] = [
  format('png', 'Portable Network Graphics', 'image'),
  format('jpg', 'Joint Photographic Experts Group', 'image'),
  format('webp', 'Web Picture', 'image'),
  format('gif', 'Graphics Interchange Format', 'image'),
  format('svg', 'Scalable Vector Graphics', 'image', 'in'),
  format('md', 'Markdown', 'document'),
  format('txt', 'Plain Text', 'document'),
  format('txt-markdown', 'Markdown Text', 'document'),
  format('docx', 'Office Open XML Document', 'document'),
  format('html', 'HyperText Markup Language', 'document'),
  format('tex-beamer', 'LaTeX Beamer Presentation', 'document', 'out'),
  format('pdf', 'Portable Document Format', 'document', 'out'),
];

const learned = new Set<string>();

/** Makes the service convert this pair from now on. */
export function learn(input: string, output: string): void {
  learned.add(`${input} ${output}`);
}

/** Whether the service converts this pair. */
export function partners(input: Format, output: Format): boolean {
  if (learned.has(`${input.format} ${output.format}`)) return true;
  return input.isInput && output.isOutput && input.kind === output.kind && input !== output;
}

/** The end of every complete PNG. */
export const endOfPng = Buffer.from('IEND', 'latin1');

/** Magic numbers, without which a file is not accepted as a result. */
export const beginnings: Readonly<Record<string, string>> = {
  gif: 'GIF89a',
  jpg: '\xff\xd8\xff',
  png: '\x89PNG\r\n\x1a\n',
  webp: 'RIFF\0\0\0\0WEBP',
};
