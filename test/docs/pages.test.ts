import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { decisions, pages, proseOf, root, textOf } from './pages';

/** Links, anchors and file names in the README and the pages. */

interface Link {
  file: string;
  anchor: string | undefined;
}

function linksOf(page: string): Link[] {
  const targets = [...proseOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  return targets.map((target) => {
    const [file = '', anchor] = target.split('#');
    return { file: file === '' ? page : path.posix.join(path.posix.dirname(page), file), anchor };
  });
}

/** Like GitHub's: lower case, without punctuation, hyphens for spaces. */
const anchorsOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

it.each([...pages, ...decisions])('%s links only to existing files and headings', (page) => {
  const broken = linksOf(page).filter(({ file, anchor }) => {
    if (!existsSync(path.join(root, file))) return true;
    return anchor !== undefined && !(file.endsWith('.md') && anchorsOf(file).includes(anchor));
  });
  expect(broken).toEqual([]);
});

it.each(pages)('%s names only existing files', (page) => {
  const named = [...textOf(page).matchAll(/`((?:src|test|examples|scripts|bench|docs|deploy)\/[\w./-]+)`/g)].map(
    (match) => match[1] ?? '',
  );
  expect(named.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it.each(pages)('%s contains no placeholders', (page) => {
  expect(textOf(page)).not.toMatch(/@@|\b(TODO|TBD|FIXME)\b/);
});

it.each(pages)('%s gives npm a tarball as a path, because it takes FOLDER/FILE for a repository on GitHub', (page) => {
  expect(textOf(page)).not.toMatch(/\bnpm (?:install|i)\b.* \w[^\s:]*\.tgz\b/);
});

it('every page is linked from docs/README.md or from the index of its folder', () => {
  const indexes = pages.filter((page) => page.endsWith('README.md') && page !== 'README.md');
  const linked = indexes.flatMap((page) => linksOf(page).map(({ file }) => file));
  const isPage = (page: string) => page.startsWith('docs/') && page !== 'docs/README.md';
  expect(pages.filter(isPage).filter((page) => !linked.includes(page))).toEqual([]);
  expect(linksOf('README.md').map(({ file }) => file)).toContain('docs/README.md');
});

it('the README is at most 12 kB, so that people read it', () =>
  expect(Buffer.byteLength(textOf('README.md'))).toBeLessThanOrEqual(12_000));

it('every page that messages and comments of the code refer to exists', () => {
  const sources = ['src', 'scripts', 'bench', 'deploy', 'examples'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  const named = sources
    .filter((name) => /\.(ts|mjs|yaml|toml|service)$/.test(name))
    .flatMap((name) => [...readFileSync(path.join(root, name), 'utf8').matchAll(/\bdocs\/[\w./-]+\.(?:md|yml|json)/g)])
    .map(([page]) => page);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((page) => !existsSync(path.join(root, page)))).toEqual([]);
});
