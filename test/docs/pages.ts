import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(__dirname, '../..');

/** The README and every page of docs except decisions, which are never updated. */
export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
    .map((name) => `docs/${name}`)
    .sort(),
];

export const decisions = readdirSync(path.join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`);

export const textOf = (page: string): string => readFileSync(path.join(root, page), 'utf8');

/** The contents of a page's code blocks in one language. */
export const snippetsOf = (page: string, language: string): string[] =>
  [...textOf(page).matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter((match) => match[1] === language)
    .map((match) => match[2] ?? '');

/** The text of a page without its code blocks. */
export const proseOf = (page: string): string => textOf(page).replace(/^```.*?^```$/gms, '');

/** The part of a page below a heading, up to the next heading of the same level. */
export function sectionOf(page: string, heading: string): string {
  const [, rest] = textOf(page).split(`\n${heading}\n`);
  if (rest === undefined) throw new Error(`${page} has no heading "${heading}"`);
  return rest.split(new RegExp(`^${heading.split(' ')[0] ?? '#'} `, 'm'))[0] ?? '';
}

/** The words in backticks in the first cell of each table row. */
export function namesInFirstCells(text: string): string[] {
  const cells = [...text.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}
