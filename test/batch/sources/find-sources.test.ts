import { execFileSync } from 'node:child_process';
import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Findings } from '../../../src/batch/findings';
import { findSources, type SourceSelection } from '../../../src/batch/sources/find-sources';
import type { FileStore, WalkedFile } from '../../../src/storage/file-store';
import { createLocalFiles } from '../../../src/storage/local-files';
import { withoutPrivileges } from '../../storage/folder';
import { MemoryFiles } from '../../support/memory-files';
import { collect, folderUri, inPieces, makeTree } from '../folder';

interface Options {
  stdin?: string | Buffer;
  skipped?: string[];
  files?: FileStore;
}

async function find(
  cwd: string,
  selection: SourceSelection,
  { stdin, skipped = [], files = createLocalFiles() }: Options = {},
) {
  const [problems, warnings, unread] = [new Findings(), new Findings(), new Findings()];
  const found = await collect(
    findSources(selection, {
      files,
      cwd: folderUri(cwd),
      ...(stdin !== undefined && { stdin: inPieces(stdin, 3) }),
      skippedFolders: new Set(skipped.map((name) => folderUri(cwd, name))),
      ...{ problems, warnings, unread },
    }),
  );
  const messages = (findings: Findings) => findings.listed.map(({ message }) => message);
  return {
    found,
    shown: found.flatMap(({ shown, refusal }) => (refusal ? [] : [shown])),
    refused: found.flatMap(({ refusal }) => (refusal ? [refusal.message] : [])),
    problems: messages(problems),
    warnings: messages(warnings),
    unread: messages(unread),
  };
}

describe('a named source', () => {
  it('is shown as a path, even if a schedule or a program named it by a file: URI', async () => {
    const cwd = await makeTree({ 'an in/a.md': '' });
    await mkdir(path.join(cwd, 'none'));
    await symlink('nowhere', path.join(cwd, 'an in/b.md'));
    const sources = ['an in/', 'none/', 'gone.md'].map((name) => folderUri(cwd, name));
    const { shown, unread, warnings } = await find(cwd, { sources });
    expect(shown).toEqual([`${cwd}/an in/a.md`, `${cwd}/gone.md`]);
    expect(unread).toEqual([`${cwd}/an in/b.md is a symbolic link that leads nowhere. It is left out.`]);
    expect(warnings).toEqual([expect.stringContaining(`${cwd}/none holds no files`)]);
  });

  it('keeps its position; the contents of a folder come by name, files before subfolders', async () => {
    const cwd = await makeTree({
      'z.md': 'z',
      'in/b/2.md': '2',
      'in/a/1.md': '1',
      'in/z.md': 'z',
      'in/B.md': 'B',
      'in/é.md': 'é',
    });
    const { found, shown } = await find(cwd, { sources: ['z.md', 'in/'], recursive: true });
    expect(shown).toEqual(['z.md', 'in/B.md', 'in/z.md', 'in/é.md', 'in/a/1.md', 'in/b/2.md']);
    expect(found.map(({ dir }) => dir)).toEqual(['', '', '', '', 'a', 'b']);
    expect(found[4]).toEqual({ uri: `${folderUri(cwd)}in/a/1.md`, shown: 'in/a/1.md', dir: 'a', how: 'found' });
  });

  it('is searched one folder deep unless recursive, with a warning for a folder without files', async () => {
    const { shown, warnings } = await find(await makeTree({ 'in/a/1.md': '1' }), { sources: ['in'] });
    expect(shown).toEqual([]);
    expect(warnings).toEqual(['in holds no files to convert. To look into its folders too, add --recursive.']);
  });

  it('need not exist, and does not affect the others; a pattern without a match is rejected', async () => {
    const cwd = await makeTree({ 'a.md': 'a' });
    const sources = ['nowhere.md', 'a.md', 'a.md/b', '*.docx', 'odd:/b'];
    const { shown, refused, problems } = await find(cwd, { sources });
    expect([shown, problems]).toEqual([['nowhere.md', 'a.md', 'a.md/b'], []]);
    expect(refused).toEqual([
      '*.docx matches no file. Check the pattern, the folder, and what --exclude leaves out.',
      'Cannot use "odd:///b": it is not a file: URI.',
    ]);
  });

  it('may be a pattern, whose folders are mirrored from its first wildcard on; a file of exactly that name wins', async () => {
    const cwd = await makeTree({
      'in/a/1.md': '',
      'in/a/2.txt': '',
      'in/3.md': '',
      'in/.h/4.md': '',
      'x[1].md': '',
      'x1.md': '',
    });
    expect((await find(cwd, { sources: ['in/**/*.{md,rst}'] })).found.map(({ shown, dir }) => [shown, dir])).toEqual([
      ['in/3.md', ''],
      ['in/a/1.md', 'a'],
    ]);
    expect((await find(cwd, { sources: ['in/*/*'] })).shown).toEqual(['in/a/1.md', 'in/a/2.txt']);
    expect((await find(cwd, { sources: ['./in/*.md'] })).shown).toEqual(['in/3.md']);
    expect((await find(cwd, { sources: ['x[1].md'] })).shown).toEqual(['x[1].md']);
    expect((await find(path.join(cwd, 'in/a'), { sources: ['../*.md', `${cwd}/x?.md`] })).shown).toEqual([
      '../3.md',
      `${cwd}/x1.md`,
    ]);
  });
});

describe('a search', () => {
  it('leaves out hidden files and folders, our temporary files, and folders of batches and results', async () => {
    const cwd = await makeTree({
      'in/a.md': '',
      'in/.hidden.md': '',
      'in/a.docx.suspect': '',
      'in/.git/b.md': '',
      'in/.a.pdf.0123456789ab.1.part': '',
      'in/batches/run-0001/manifest.jsonl': '',
      'in/batches/run-0001/parts/000001.jsonl': '',
      'in/run-0002/no-batch.md': '',
      'in/out/a.pdf': '',
    });
    const options = { skipped: ['in/out'] };
    const { shown, warnings } = await find(cwd, { sources: ['in'], recursive: true }, options);
    expect([shown, warnings]).toEqual([['in/a.md', 'in/run-0002/no-batch.md'], []]);
    expect((await find(cwd, { sources: ['in/.*'] }, options)).shown).toEqual(['in/.hidden.md']);
    expect((await find(cwd, { sources: ['in/out'] }, options)).shown).toEqual(['in/out/a.pdf']);
  });

  it('keeps names with a dot in a store, but leaves out folders of batches, and keys that a URI would change', async () => {
    const files = new MemoryFiles();
    const keys = ['.b/c.md', '.d.md', '.fileconv/batches/x/settings.json', 'a.md'];
    for (const key of keys) files.files.set(`memory://in/${key}`, Buffer.from('x'));
    const beyond: WalkedFile[] = ['e/../f.md', '.', 'g/..'].map((relative) => ({
      uri: `memory://in/${relative}`,
      relative,
    }));
    const walk: FileStore['walk'] = async function* (folder, options) {
      yield* MemoryFiles.prototype.walk.call(files, folder, options);
      for (const file of beyond) if (!file.relative.includes('/../') || (await options?.enters?.('e/..'))) yield file;
    };
    const { shown, unread } = await find(
      '/',
      { sources: ['memory://in/'], recursive: true },
      { files: Object.assign(files, { walk }) },
    );
    expect(shown).toEqual(['memory://in/.b/c.md', 'memory://in/.d.md', 'memory://in/a.md']);
    const left = 'has a segment of dots in its key; rename it. It is left out.';
    expect(unread).toEqual(['e/..', '.', 'g/..'].map((key) => `memory://in/${key} ${left}`));
  });

  it('leaves out what a pattern excludes by name, by path in the folder or by path as typed; excluded folders are not entered', async () => {
    const cwd = await makeTree({
      'in/a.md': '',
      'in/a.tmp': '',
      'in/x/drafts/b.md': '',
      'in/x/c.md': '',
      'in/y/d.md': '',
    });
    const without = async (...exclude: string[]) =>
      (await find(cwd, { sources: ['in', 'in/a.md'], recursive: true, exclude })).shown;
    expect(await without('*.tmp', 'drafts')).toEqual(['in/a.md', 'in/x/c.md', 'in/y/d.md', 'in/a.md']);
    expect(await without('x/**', 'a.*')).toEqual(['in/y/d.md']);
    expect(await without('in/x/', '*.tmp')).toEqual(['in/a.md', 'in/y/d.md', 'in/a.md']);
    expect(await without('**/*.md')).toEqual(['in/a.tmp']);
  });

  it('leaves out a link to a folder inside the tree, and finds its files by their real names, whatever the sort order', async () => {
    const cwd = await makeTree({ 'in/md/1.md': '', 'in/md/deep/2.md': '', 'else/3.md': '' });
    await symlink('../md/deep', path.join(cwd, 'in/md/a-link'));
    await symlink('md', path.join(cwd, 'in/a-link'));
    await symlink('../else', path.join(cwd, 'in/b'));
    await symlink('../in/md', path.join(cwd, 'else/back'));
    await symlink('md/1.md', path.join(cwd, 'in/link.md'));
    const { shown, warnings } = await find(cwd, { sources: ['in'], recursive: true });
    const real = await realpath(cwd);
    expect(shown).toEqual(['in/link.md', 'in/b/3.md', 'in/md/1.md', 'in/md/deep/2.md']);
    expect(warnings).toEqual([
      `in/a-link is a link to ${real}/in/md, which lies in the same tree. It is left out.`,
      `in/b/back is a link to ${real}/in/md, which lies in the same tree. It is left out.`,
      `in/md/a-link is a link to ${real}/in/md/deep, which lies in the same tree. It is left out.`,
    ]);
    expect((await find(cwd, { sources: ['in'] })).warnings).toEqual([]);
  });

  it('leaves out links to a parent folder or to one already visited, so that links neither loop nor multiply', async () => {
    const cwd = await makeTree({ 'in/a/1.md': '', 'else/3.md': '' });
    await symlink('..', path.join(cwd, 'in/a/loop'));
    await symlink('../..', path.join(cwd, 'in/a/out'));
    await symlink('../else', path.join(cwd, 'in/c'));
    await symlink('../else', path.join(cwd, 'in/d'));
    await symlink('.', path.join(cwd, 'else/self'));
    const { shown, warnings, unread } = await find(cwd, { sources: ['in'], recursive: true });
    expect(shown).toEqual(['in/a/1.md', 'in/c/3.md']);
    expect(warnings).toEqual([
      'in/a/loop is a link to a folder that it lies in. It is left out.',
      'in/a/out is a link to a folder that it lies in. It is left out.',
      'in/c/self is a link to a folder that was looked into before. It is left out.',
      'in/d is a link to a folder that was looked into before. It is left out.',
    ]);
    // Nothing is lost, since these files are found elsewhere.
    expect(unread).toEqual([]);
  });

  it('leaves out names that no result could have, and reports only those that were wanted', async () => {
    const cwd = await makeTree({ 'in/a\nb.md': '', 'in/c\td/e.md': '', 'in/f\u0085.md': '', 'in/g\nh.png': '' });
    const { shown, unread } = await find(cwd, { sources: ['in/**/*.md'] });
    expect(shown).toEqual(['in/f\u0085.md']);
    const left = 'has a control character in its name; rename it. It is left out.';
    expect(unread).toEqual([String.raw`in/a\x0ab.md ${left}`, String.raw`in/c\x09d ${left}`]);
  });

  it('leaves out files and folders with names that are not UTF-8, where it would look into them', async () => {
    const cwd = await makeTree({ 'in/a.md': '', 'in/named \ufffd/b.md': '', 'in/c \ufffd.md': '' });
    const raw = (name: string) => Buffer.from(`${cwd}/in/${name}`, 'latin1');
    await mkdir(raw('\xe4'));
    await writeFile(raw('\xe4/c.md'), 'c');
    await writeFile(raw('\xf6.md'), 'd');
    const left = 'has a name that is not UTF-8; rename it. It is left out.';
    const whole = await find(cwd, { sources: ['in'], recursive: true });
    expect(whole.shown).toEqual(['in/a.md', 'in/c \ufffd.md', 'in/named \ufffd/b.md']);
    expect(whole.unread).toEqual([`in/\ufffd ${left}`, `in/\ufffd.md ${left}`]);
    expect((await find(cwd, { sources: ['in'] })).unread).toEqual([`in/\ufffd.md ${left}`]);
    // No pattern could match the folder.
    expect((await find(cwd, { sources: ['in/*.txt', 'in/*.md'] })).unread).toEqual([`in/\ufffd.md ${left}`]);
  });

  it('reports broken links, special files and unreadable folders', async () => {
    const cwd = await makeTree({ 'in/a.md': '', 'in/closed/b.md': '' });
    await chmod(cwd, 0o755);
    await symlink('nowhere', path.join(cwd, 'in/broken.md'));
    await symlink('/dev/null', path.join(cwd, 'in/null.md'));
    execFileSync('mkfifo', [path.join(cwd, 'in/pipe.md')]);
    await chmod(path.join(cwd, 'in/closed'), 0o000);
    const { shown, warnings, unread } = await withoutPrivileges(() => find(cwd, { sources: ['in'], recursive: true }));
    await chmod(path.join(cwd, 'in/closed'), 0o755);
    expect([shown, warnings]).toEqual([['in/a.md'], []]);
    expect(unread).toEqual([
      'in/broken.md is a symbolic link that leads nowhere. It is left out.',
      'in/null.md is a pipe, a socket or a device. It is left out.',
      'in/pipe.md is a pipe, a socket or a device. It is left out.',
      'in/closed may not be looked into by this user. It is left out.',
    ]);
  });
});

describe('a list of files', () => {
  it('has one path per line, or NUL-terminated paths, and mirrors the folders below the current one', async () => {
    const cwd = await makeTree({
      // Windows editors save files with a byte order mark.
      'lines.txt': '\uFEFFin/a.md\r\n\n../far/b.md\nin/c d.md',
      'nuls.txt': 'in/a.md\0in/new\nline.md\0',
    });
    const { found } = await find(cwd, { sources: [], filesFrom: 'lines.txt' });
    expect(found.map(({ shown, dir, how }) => [shown, dir, how])).toEqual([
      ['in/a.md', 'in', 'listed'],
      ['../far/b.md', '', 'listed'],
      ['in/c d.md', 'in', 'listed'],
    ]);
    expect((await find(cwd, { sources: [], filesFrom: 'nuls.txt' })).shown).toEqual(['in/a.md', 'in/new\nline.md']);
  });

  it('comes from standard input if it is -', async () => {
    const cwd = await makeTree({ 'z.md': '' });
    expect((await find(cwd, { sources: ['-', 'z.md'] }, { stdin: 'a.md\nb.md\n' })).shown).toEqual([
      'a.md',
      'b.md',
      'z.md',
    ]);
    expect((await find(cwd, { sources: [], filesFrom: '-' }, { stdin: 'a\0b\0' })).shown).toEqual(['a', 'b']);
    expect((await find(cwd, { sources: ['-'], filesFrom: '-' }, { stdin: '' })).problems).toEqual([
      'Standard input is named twice. Name - once.',
    ]);
  });

  it('leaves out a name that is not UTF-8 with a warning, and takes the others', async () => {
    const list = Buffer.concat([Buffer.from('a.md\n'), Buffer.from('\xe4.md\n', 'latin1'), Buffer.from('b.md\n')]);
    const { shown, refused, unread } = await find(await makeTree({ list }), { sources: [], filesFrom: 'list' });
    expect([shown, refused]).toEqual([['a.md', 'b.md'], []]);
    expect(unread).toEqual(['list line 2 (ä.md) is not UTF-8. It is left out: rename the file.']);
  });

  it('is rejected with the line of an invalid path', async () => {
    const cwd = await makeTree({ list: Buffer.from(`a.md\n${'x'.repeat(20_000)}\n`) });
    const { shown, refused } = await find(cwd, { sources: [], filesFrom: 'list' });
    expect(shown).toEqual(['a.md']);
    expect(refused).toEqual(['list line 2 is longer than a path can be. Write one path a line.']);
    expect((await find(cwd, { sources: [], filesFrom: 'nowhere' })).problems).toEqual([
      'nowhere does not exist. Check the name and the folder.',
    ]);
    expect((await find(cwd, { sources: [], filesFrom: '.' })).problems).toEqual(['. is a folder. Name a file.']);
    execFileSync('mkfifo', [path.join(cwd, 'pipe')]);
    const { problems } = await find(cwd, { sources: [], filesFrom: 'pipe' });
    expect(problems).toEqual(['pipe cannot be read: it is not a regular file.']);
  });
});
