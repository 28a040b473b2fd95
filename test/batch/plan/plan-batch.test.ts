import { link, readdir, symlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLocalFiles } from '../../../src/storage/local-files';
import { Stores } from '../../../src/storage/stores';
import { MemoryFiles } from '../../support/memory-files';
import { addFiles, cleanUp, folderUri, makeTree } from '../folder';
import { listRuns, messagesOf, plan, planManifest, readItems, runFolder } from './planning';

afterEach(cleanUp);

describe('a plan of folders', () => {
  it('is the manifest of a new run: a row for each file, and its result in the mirrored folder', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/sub/b.DOCX': 'bcd', 'in/sub/deep/c d.md': 'e' });
    const planned = await plan(cwd);
    expect(planned).toEqual({
      run: { number: 1, folder: folderUri(runFolder(cwd, 1)) },
      rows: 3,
      done: 0,
      kept: 0,
      refused: [],
      todo: 3,
      bytes: 5,
      formats: [
        { input: 'md', extension: 'md', output: 'pdf', rows: 2, bytes: 2 },
        { input: 'docx', extension: 'docx', output: 'pdf', rows: 1, bytes: 3 },
      ],
      replaced: 0,
      missing: { count: 0, listed: [] },
      existing: { count: 0, listed: [] },
      leftOut: { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0 },
      toNote: [],
      problems: { count: 0, listed: [] },
      warnings: { count: 0, listed: [] },
    });
    const uri = (name: string) => pathToFileURL(path.join(cwd, name)).href;
    expect(await readItems(cwd)).toEqual([
      { item: 1, source: uri('in/a.md'), output: 'pdf', destination: uri('out/a.pdf') },
      { item: 2, source: uri('in/sub/b.DOCX'), output: 'pdf', destination: uri('out/sub/b.pdf') },
      { item: 3, source: uri('in/sub/deep/c d.md'), output: 'pdf', destination: uri('out/sub/deep/c d.pdf') },
    ]);
    expect((await readdir(runFolder(cwd, 1))).sort()).toEqual(['manifest.jsonl']);
  });

  it('leaves nothing behind when it is dry, has problems, or is stopped', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'a' });
    const template = '{dir}/{name}.{from}.{ext}';
    expect(await plan(cwd, { dryRun: true, template })).toMatchObject({ rows: 2, todo: 2 });
    expect((await plan(cwd, {})).problems.count).toBe(1);
    await expect(plan(cwd, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    expect(await readdir(cwd)).toEqual(['in']);
    expect(await plan(cwd, { settledForMs: 1, template })).toMatchObject({
      toNote: [expect.any(String), expect.any(String)],
    });
    expect(await listRuns(cwd)).toEqual([]);
  });

  it('takes a file once that is named more than once', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a' });
    const planned = await plan(cwd, { what: { sources: ['in', 'in/*.md', 'in/a.md'], to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 1, leftOut: { repeated: 2 }, problems: { count: 0 } });
  });

  it('takes only what changed since a time', async () => {
    const cwd = await makeTree({ 'in/old.md': 'a', 'in/new.md': 'b' });
    await utimes(path.join(cwd, 'in/old.md'), 1000, 1000);
    const planned = await plan(cwd, { what: { sources: ['in'], to: 'pdf', modifiedSince: 2_000_000 } });
    expect(planned).toMatchObject({ rows: 1, leftOut: { unmodified: 1 } });
  });

  it('never takes results for sources, when they go into the folder that is converted', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/out/a.pdf': 'result' });
    const planned = await plan(cwd, { out: folderUri(cwd, 'in/out') });
    expect(planned).toMatchObject({ rows: 1, existing: { count: 1 } });
  });

  it('of nothing is a problem, unless nothing may be there', async () => {
    const cwd = await makeTree({ 'in/.hidden': 'a' });
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      'There are no files to convert. Check the names, and what --exclude leaves out.',
    ]);
    expect(await plan(cwd, { mayBeEmpty: true })).toMatchObject({ rows: 0, problems: { count: 0 } });
  });

  it('warns of sources whose items will fail, and of results that exist, and stops for none of them', async () => {
    const cwd = await makeTree({
      'in/empty.md': '',
      'in/a.md': 'a',
      list: 'in/empty.md\nin\ngone.md\nlink.md\nin/a.md',
      'out/in/a.pdf': 'mine',
    });
    await symlink('nowhere', path.join(cwd, 'link.md'));
    await symlink('nowhere', path.join(cwd, 'out/in/empty.pdf'));
    const planned = await plan(cwd, { what: { sources: [], filesFrom: 'list', to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 5, problems: { count: 0 }, run: { number: 1 } });
    expect(messagesOf(planned.warnings)).toEqual([
      'in/empty.md is empty. Its item will fail.',
      'in is a folder. Its item will fail.',
      'gone.md does not exist. Its item will fail.',
      'link.md is a symbolic link that leads nowhere. Its item will fail.',
    ]);
    expect(messagesOf(planned.existing)).toEqual([
      `${path.join(cwd, 'out/in/empty.pdf')} exists already.`,
      `${path.join(cwd, 'out/in/a.pdf')} exists already.`,
    ]);
  });
});

describe('conflicts of files', () => {
  it('name both sources and what to type', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'more/a.md': 'c' });
    const { problems, run } = await plan(cwd, { what: { sources: ['in', 'more'], to: 'pdf' } });
    const result = path.join(cwd, 'out/a.pdf');
    expect(messagesOf(problems)).toEqual([
      `in/a.md and in/a.txt would both become ${result}. Keep their extensions apart with --template '{dir}/{name}.{from}.{ext}', or run two batches with different --out folders.`,
      `in/a.md and more/a.md would both become ${result}. Name the folder that holds both of their folders, or run two batches with different --out folders.`,
    ]);
    expect(run).toBeUndefined();
    expect(await plan(cwd, { template: '{dir}/{name}.{from}.{ext}' })).toMatchObject({
      problems: { count: 0 },
      rows: 2,
    });
  });

  it.each([
    ['case', 'in/A.md', 'in/a.md'],
    ['encoding of an accent', 'in/\u00e9.md', 'in/e\u0301.md'],
  ])('are names that differ in %s alone', async (_, one, two) => {
    const cwd = await makeTree({ [one]: '1', [two]: '2' });
    const [message = ''] = messagesOf((await plan(cwd)).problems);
    expect(message).toContain('which many file systems take for the same name). Rename one of them.');
    expect(message).toContain(one);
    expect(message).toContain(two);
  });

  it('are a source that would be replaced, by its name or by a link to it, found in either order', async () => {
    const cwd = await makeTree({ 'in/a.pdf': 'a', 'in/b.md': 'b', 'in/b.pdf': 'c' });
    const inPlace = await plan(cwd, {
      out: folderUri(cwd, 'in'),
      what: { sources: ['in/a.pdf', 'in/b.md', 'in/b.pdf'], to: 'pdf' },
    });
    expect(messagesOf(inPlace.problems)).toEqual([
      'in/a.pdf would be replaced by its own result. Choose another folder with --out, or leave it out with --exclude.',
      expect.stringContaining('in/b.md and in/b.pdf would both become'),
    ]);
    const linked = await makeTree({ 'in/a.md': 'a', 'in/b.md': 'b' });
    await addFiles(linked, { 'out/x': '' });
    await link(path.join(linked, 'in/b.md'), path.join(linked, 'out/a.pdf'));
    await symlink('../in/a.md', path.join(linked, 'out/b.pdf'));
    expect(messagesOf((await plan(linked)).problems)).toEqual([
      `in/b.md would be replaced by the result of in/a.md. Choose another folder with --out.`,
    ]);
  });

  it('are a result where another needs a folder', async () => {
    const cwd = await makeTree({ 'in/x.md': 'a', 'in/x.pdf/y.md': 'b' });
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      `${path.join(cwd, 'out/x.pdf/y.pdf')}, the result of in/x.pdf/y.md, and ${path.join(cwd, 'out/x.pdf')}, that of in/x.md, need a file and a folder of one name. Give one of them another name.`,
    ]);
  });

  it('are an out folder that is a file, and a template that is none', async () => {
    const cwd = await makeTree({ 'in/x.md': 'a', out: '' });
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      `${path.join(cwd, 'out')} is not a folder. Name a folder with --out.`,
    ]);
    expect(messagesOf((await plan(cwd, { template: '{nam}.{ext}' })).problems)).toEqual([
      "The template {nam}.{ext} can't be used: there is no {nam}. Did you mean {name}?",
    ]);
  });
});

describe('a plan of a manifest', () => {
  it('takes its rows as they are, relative to its folder, and fills in what they leave open', async () => {
    const cwd = await makeTree({
      'a.md': 'a',
      'sub/b.md': 'b',
      'm.csv': 'source,output,input,destination\na.md,html,markdown,x/y.html\nsub/b.md,pdf,,\nsub/b.md,html,,x/\n',
    });
    expect(await planManifest(cwd, 'm.csv')).toMatchObject({ rows: 3, problems: { count: 0 }, warnings: { count: 0 } });
    const uri = (name: string) => pathToFileURL(path.join(cwd, name)).href;
    expect(await readItems(cwd)).toEqual([
      { item: 1, source: uri('a.md'), output: 'html', input: 'markdown', destination: uri('out/x/y.html') },
      { item: 2, source: uri('sub/b.md'), output: 'pdf', destination: uri('out/sub/b.pdf'), sourceGroup: 2 },
      { item: 3, source: uri('sub/b.md'), output: 'html', destination: uri('out/x/b.html'), sourceGroup: 2 },
    ]);
  });

  it('keeps destinations in the out folder, and without one in its own, unless they are absolute', async () => {
    const elsewhere = await makeTree();
    const cwd = await makeTree({
      'm.csv': `source,output,destination\na,pdf,../../etc/x\nb,pdf,${elsewhere}/b.pdf\nc,pdf,x/../../c.pdf\nd,pdf,https://host/d.pdf\ne,pdf,${'x'.repeat(256)}\nf,pdf,"a\tb"\n`,
    });
    const out = path.join(cwd, 'out');
    const { problems } = await planManifest(cwd, 'm.csv');
    expect(messagesOf(problems)).toEqual([
      `m.csv line 2, column destination: ../../etc/x is outside of ${out}. Name a file in there, or leave out --out.`,
      `m.csv line 3, column destination: ${elsewhere}/b.pdf is outside of ${out}. Name a file in there, or leave out --out.`,
      `m.csv line 4, column destination: x/../../c.pdf is outside of ${out}. Name a file in there, or leave out --out.`,
      `m.csv line 5, column destination: https://host/d.pdf is outside of ${out}. Name a file in there, or leave out --out.`,
      `m.csv line 6, column destination: the name ${'x'.repeat(60)}… is longer than 255 bytes. Choose a shorter one.`,
      `m.csv line 7, column destination: ${JSON.stringify(`${out}/a\tb`)} holds a control character. Remove it.`,
    ]);
    await addFiles(cwd, {
      'n.csv': `source,output,destination\na,pdf,../../etc/x\nb,pdf,${elsewhere}/b.pdf\nc,pdf,file://host/c.pdf\ngs://in/d,pdf,d.pdf\ne,pdf,gs://out/e.pdf\n`,
    });
    const free = await planManifest(cwd, 'n.csv', { out: undefined });
    expect(messagesOf(free.problems)).toEqual([
      `n.csv line 2, column destination: ../../etc/x is outside of ${cwd}. Name a file in there, or an absolute path.`,
      'n.csv line 4, column destination: file://host/c.pdf is no file. Name a path, or a URI such as file:///srv/report.md.',
      'n.csv line 5, column source: Cannot use "gs://in/d": it is not a file: URI.',
      'n.csv line 6, column destination: Cannot use "gs://out/e.pdf": it is not a file: URI.',
    ]);
  });

  it('refuses an address with a user name or a password, and shows neither', async () => {
    const cwd = await makeTree({
      'm.csv': 'source,output,destination\nhttps://joe:SECRET@host/a.md,pdf,\na,pdf,s3://joe:SECRET@host/a.pdf\n',
      a: '',
    });
    const { problems } = await planManifest(cwd, 'm.csv', { out: undefined });
    expect(messagesOf(problems)).toEqual([
      'm.csv line 2, column source: https://host/a.md holds a user name or a password. Take them out.',
      'm.csv line 3, column destination: s3://host/a.pdf holds a user name or a password. Take them out.',
    ]);
  });

  it('keeps the query of a signed web address out of messages, and needs a folder for the result', async () => {
    const cwd = await makeTree({ 'm.csv': 'source,output\nhttps://host/a b.md?sig=SECRET,pdf\n' });
    const look = () => Promise.resolve({ kind: 'none', reason: 'does not exist', isLink: false } as const);
    const files = new Stores({ file: createLocalFiles(), https: Object.assign(new MemoryFiles(), { look }) });
    const { problems } = await planManifest(cwd, 'm.csv', { files, out: undefined });
    expect(messagesOf(problems)).toEqual([
      'm.csv line 2, column destination: the web can only be read. Name a folder with --out.',
    ]);
    const { warnings } = await planManifest(cwd, 'm.csv', { files });
    expect(messagesOf(warnings)).toEqual([
      'm.csv line 2, column source: https://host/a b.md does not exist. Its item will fail.',
    ]);
    const [item] = await readItems(cwd);
    expect(item?.source).toBe('https://host/a%20b.md?sig=SECRET');
    expect(item?.destination).toBe(`${folderUri(cwd, 'out')}a%20b.pdf`);
  });

  it('refuses one source twice for one format, one destination twice, and a result that is a source', async () => {
    const cwd = await makeTree({
      'm.csv':
        'source,output,destination\na,pdf,1\na,pdf,2\nb,pdf,X\nc,pdf,x\nd,pdf,1/y\ne,pdf,../e\n../out/z,pdf,7\nf,pdf,z\n',
    });
    const sub = path.join(cwd, 'sub');
    await addFiles(sub, { m: '' });
    const out = path.join(cwd, 'out');
    const { problems } = await plan(cwd, {
      what: { manifest: pathToFileURL(path.join(cwd, 'm.csv')).href, name: 'm.csv', folder: folderUri(sub) },
    });
    expect(messagesOf(problems)).toEqual([
      'm.csv line 3, column source: a becomes pdf by m.csv line 2 already. Remove one of the two.',
      `m.csv line 5, column destination: ${out}/x is the result of m.csv line 4 too (there ${out}/X, which many file systems take for the same name). Give one of them another name.`,
      `m.csv line 6, column destination: ${out}/1/y, the result of d, and ${out}/1, that of m.csv line 2, need a file and a folder of one name. Give one of them another name.`,
      `m.csv line 7, column destination: ../e is outside of ${out}. Name a file in there, or leave out --out.`,
      `m.csv line 9, column destination: ${out}/z, the result of f, is a source too: m.csv line 8. Choose another folder with --out.`,
    ]);
  });

  it('that does not exist is a problem', async () => {
    const cwd = await makeTree();
    expect(messagesOf((await planManifest(cwd, 'm.csv')).problems)).toEqual([
      'm.csv does not exist. Check the name and the folder.',
    ]);
  });
});

describe('files that may still be written to', () => {
  const hour = 3_600_000;

  it('are left out when they changed a moment ago, or before they are looked at again', async () => {
    const cwd = await makeTree({ 'in/fresh.md': 'a', 'in/growing.md': 'b', 'in/quiet.md': 'c' });
    const old = new Date(Date.now() - 2 * hour);
    for (const name of ['growing', 'quiet']) await utimes(path.join(cwd, `in/${name}.md`), old, old);
    const first = await plan(cwd, { settledForMs: hour });
    expect(first.toNote).toHaveLength(2);
    expect(await listRuns(cwd)).toEqual([]);
    await addFiles(cwd, { 'in/growing.md': 'bb' });
    // Whoever writes may set the time back.
    await utimes(path.join(cwd, 'in/growing.md'), old, old);
    const planned = await plan(cwd, { settledForMs: hour, noted: new Set(first.toNote) });
    expect(planned).toMatchObject({ rows: 1, leftOut: { unsettled: 2 }, toNote: [] });
    expect((await readItems(cwd)).map(({ source }) => path.basename(source))).toEqual(['quiet.md']);
  });
});
