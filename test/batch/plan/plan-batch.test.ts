import { link, mkdir, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { summaryOf } from '../../../src/batch/plan/planned-batch';
import { replanFailed } from '../../../src/batch/plan/replan-failed';
import { createLocalFiles } from '../../../src/storage/local-files';
import { Stores } from '../../../src/storage/stores';
import { MemoryFiles } from '../../support/memory-files';
import { addFiles, cleanUp, folderUri, makeTree } from '../folder';
import {
  convertAll,
  listRuns,
  messagesOf,
  plan,
  planManifest,
  readItems,
  runFolder,
  writeParts,
  writeResults,
} from './planning';

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
      bad: 0,
      failures: {},
      todo: 3,
      bytes: 5,
      formats: [
        { input: 'md', extension: 'md', output: 'pdf', rows: 2, bytes: 2 },
        { input: 'docx', extension: 'docx', output: 'pdf', rows: 1, bytes: 3 },
      ],
      replaced: 0,
      missing: { count: 0, listed: [] },
      existing: { count: 0, listed: [] },
      leftOut: { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0, unread: 0 },
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
    expect((await plan(cwd, {})).problems.count).toBe(2);
    expect((await plan(cwd, { mayBeDone: true })).problems.count).toBe(2);
    await expect(plan(cwd, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    expect(await readdir(cwd)).toEqual(['in']);
    expect(await plan(cwd, { settledForMs: 1, template })).toMatchObject({
      toNote: [expect.any(String), expect.any(String)],
    });
    expect(await listRuns(cwd)).toEqual([]);
  });

  it('takes a file once that is named more than once', async () => {
    // The result of the second one has a name of 256 bytes, which fails it alone.
    const cwd = await makeTree({ 'in/a.md': 'a', [`in/${'n'.repeat(252)}.md`]: 'b' });
    const planned = await plan(cwd, { what: { sources: ['in', 'in/*.md', 'in/a.md'], to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 2, todo: 1, failures: { DESTINATION_INVALID: 1 }, leftOut: { repeated: 3 } });
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

  it('fails the rows of sources that are none, warns of results that exist, and stops for none of them', async () => {
    const cwd = await makeTree({
      'in/empty.md': '',
      'in/a.md': 'a',
      list: 'in/empty.md\nin\ngone.md\nlink.md\nin/a.md',
      'out/in/a.pdf': 'mine',
    });
    await symlink('nowhere', path.join(cwd, 'link.md'));
    await symlink('nowhere', path.join(cwd, 'out/in/empty.pdf'));
    const planned = await plan(cwd, { what: { sources: [], filesFrom: 'list', to: 'pdf' } });
    const failures = { SOURCE_EMPTY: 1, SOURCE_IS_DIRECTORY: 1, SOURCE_NOT_FOUND: 2 };
    expect(planned).toMatchObject({ rows: 5, todo: 1, bad: 4, failures, problems: { count: 0 }, run: { number: 1 } });
    expect(messagesOf(planned.warnings)).toEqual([
      'in/empty.md is empty. Its item will fail.',
      'in is a folder. Its item will fail.',
      'gone.md does not exist. Its item will fail.',
      'link.md is a symbolic link that leads nowhere. Its item will fail.',
    ]);
    expect(messagesOf(planned.existing)).toEqual([`${path.join(cwd, 'out/in/a.pdf')} exists already.`]);
    const [empty] = await readItems(cwd);
    expect(empty?.refused).toEqual({ code: 'SOURCE_EMPTY', message: 'in/empty.md is empty.' });
  });

  it('tells what was left out before anything else, counts it, and stops for none of it', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a\nb.md': 'b', 'in/a.txt': '', 'in/sub/c.md': 'c' });
    await symlink('nowhere', path.join(cwd, 'in/sub/lost.md'));
    await mkdir(path.join(cwd, 'none'));
    const planned = await plan(cwd, { what: { sources: ['none', 'in'], recursive: true, to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 3, todo: 1, leftOut: { unread: 2 }, run: { number: 1 } });
    expect(messagesOf(planned.warnings).slice(0, 2)).toEqual([
      String.raw`in/a\x0ab.md has a control character in its name; rename it. It is left out.`,
      'in/sub/lost.md is a symbolic link that leads nowhere. It is left out.',
    ]);
    expect(summaryOf(planned)).toMatchObject({ rows: 3, todo: 1, refused: 2, leftOut: 2 });
  });
});

describe('conflicts of files', () => {
  it('name both sources and what to type', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'more/a.md': 'c' });
    const { problems, run } = await plan(cwd, { what: { sources: ['in', 'more'], to: 'pdf' } });
    const result = path.join(cwd, 'out/a.pdf');
    const apart =
      "Keep their extensions apart with --template '{dir}/{name}.{from}.{ext}', or run two batches with different --out folders.";
    expect(messagesOf(problems)).toEqual([
      `in/a.md and in/a.txt would both become ${result}. ${apart}`,
      `in/a.txt and in/a.md would both become ${result}. ${apart}`,
      `more/a.md and in/a.md would both become ${result}. Name the folder that holds both of their folders, or run two batches with different --out folders.`,
    ]);
    expect(run).toBeUndefined();
    expect(await plan(cwd, { template: '{dir}/{name}.{from}.{ext}' })).toMatchObject({
      problems: { count: 0 },
      rows: 2,
    });
  });

  it('fail all rows of one destination, and convert the others', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'in/a.docx': 'c', 'in/b.md': 'd' });
    expect(await plan(cwd)).toMatchObject({ todo: 1, bad: 3, failures: { DESTINATION_TAKEN: 3 }, run: { number: 1 } });
    const refused = { code: 'DESTINATION_TAKEN', message: expect.any(String) as unknown, isUnclear: true };
    const uri = (name: string) => pathToFileURL(path.join(cwd, name)).href;
    expect(await readItems(cwd)).toEqual([
      ...['docx', 'md', 'txt'].map((extension, index) => ({
        ...{ item: index + 1, source: uri(`in/a.${extension}`), output: 'pdf', destination: uri('out/a.pdf'), refused },
      })),
      { item: 4, source: uri('in/b.md'), output: 'pdf', destination: uri('out/b.pdf') },
    ]);
  });

  it('leave what was delivered to its own row, also in the ledger, and replace it for none of them', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/b.md': 'b' });
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd));
    await addFiles(cwd, { 'in/a.txt': 'another', 'in/c.md': 'c' });
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1, bad: 1, run: { number: 2 } });
    expect((await readItems(cwd, 2)).map(({ done, refused }) => done?.output.name ?? refused?.code)).toEqual([
      ...['a.pdf', 'DESTINATION_TAKEN', 'b.pdf', undefined],
    ]);
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    await writeFile(path.join(cwd, 'in/a.md'), 'changed');
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 0, bad: 2 });
    // Without the other one it is known whose the result is: it is replaced.
    await rm(path.join(cwd, 'in/a.txt'));
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1, bad: 0, replaced: 1 });
  });

  it('fail again in a retry, which converts neither', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'in/b.md': 'c', 'in/e.md': '' });
    await plan(cwd);
    await writeParts(cwd, []);
    await addFiles(cwd, { 'in/e.md': 'no more empty' });
    const retried = await replanFailed({ files: createLocalFiles(), batchFolder: folderUri(cwd, '.batch') });
    expect(retried).toMatchObject({ rows: 4, todo: 2, bad: 2, failures: { DESTINATION_TAKEN: 2 } });
    expect((await readItems(cwd, 2)).map(({ refused }) => refused?.isUnclear)).toEqual([
      true,
      true,
      undefined,
      undefined,
    ]);
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
      expect.stringContaining('in/b.pdf and in/b.md would both become'),
    ]);
    const linked = await makeTree({ 'in/a.md': 'a', 'in/b.md': 'b' });
    await addFiles(linked, { 'out/x': '' });
    await link(path.join(linked, 'in/b.md'), path.join(linked, 'out/a.pdf'));
    await symlink('../in/a.md', path.join(linked, 'out/b.pdf'));
    expect(messagesOf((await plan(linked)).problems)).toEqual([
      `${path.join(linked, 'out/a.pdf')}, the result of in/a.md, is a source too: in/b.md. Choose another folder with --out.`,
      `${path.join(linked, 'out/b.pdf')}, the result of in/b.md, is a source too: in/a.md. Choose another folder with --out.`,
    ]);
    await rm(path.join(linked, 'out/b.pdf'));
    expect(await plan(linked)).toMatchObject({ todo: 1, failures: { DESTINATION_IS_SOURCE: 1 } });
  });

  it('are a result where another needs a folder', async () => {
    const cwd = await makeTree({ 'in/x.md': 'a', 'in/x.pdf/y.md': 'b' });
    const [file, inFolder] = [path.join(cwd, 'out/x.pdf'), path.join(cwd, 'out/x.pdf/y.pdf')];
    const cure = 'need a file and a folder of one name. Give one of them another name.';
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      `${file}, the result of in/x.md, and ${inFolder}, that of in/x.pdf/y.md, ${cure}`,
      `${inFolder}, the result of in/x.pdf/y.md, and ${file}, that of in/x.md, ${cure}`,
    ]);
    await addFiles(cwd, { 'in/x.pdf/z.md': '', 'in/x.pdf/k/1.md': 'c', 'in/x.pdf/k/l/2.md': 'd', 'in/y.md': 'e' });
    expect(await plan(cwd)).toMatchObject({ todo: 1, bad: 5, failures: { DESTINATION_TAKEN: 5 } });
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
      'n.csv line 3, column source: b does not exist.',
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
    await addFiles(cwd, { good: 'a', 'm.csv': 'source,output\nhttps://host/a b.md?sig=SECRET,pdf\ngood,pdf\n' });
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
    const same = 'which many file systems take for the same name). Give one of them another name.';
    expect(messagesOf(problems)).toEqual([
      `m.csv line 2, column destination: ${out}/1, the result of a, and ${out}/1/y, that of m.csv line 6, need a file and a folder of one name. Give one of them another name.`,
      'm.csv line 3, column source: a becomes pdf by m.csv line 2 already. Remove one of the two.',
      `m.csv line 4, column destination: ${out}/X is the result of m.csv line 5 too (there ${out}/x, ${same}`,
      `m.csv line 5, column destination: ${out}/x is the result of m.csv line 4 too (there ${out}/X, ${same}`,
      `m.csv line 6, column destination: ${out}/1/y, the result of d, and ${out}/1, that of m.csv line 2, need a file and a folder of one name. Give one of them another name.`,
      `m.csv line 7, column destination: ../e is outside of ${out}. Name a file in there, or leave out --out.`,
      'm.csv line 8, column source: ../out/z does not exist.',
      `m.csv line 9, column destination: ${out}/z, the result of f, is a source too: m.csv line 8. Choose another folder with --out.`,
    ]);
  });

  it('converts its good rows, and keeps each bad one with its line', async () => {
    const long = `${'d/'.repeat(2_100)}x.pdf`;
    const cwd = await makeTree({
      a: 'a',
      b: 'b',
      'm.csv': `source,output,destination\na,pdf,1\nb,,2\nb,pdf,../2\nb,pdf,${'x'.repeat(256)}\nb,pdf,${long}\n`,
    });
    const failures = { ROW_INVALID: 1, DESTINATION_OUTSIDE: 1, DESTINATION_INVALID: 2 };
    expect(await planManifest(cwd, 'm.csv')).toMatchObject({ rows: 5, todo: 1, failures, run: { number: 1 } });
    const items = await readItems(cwd);
    expect(items.map(({ source, refused }) => [path.basename(source), refused?.message.slice(0, 40)])).toEqual([
      ['a', undefined],
      ['', 'm.csv line 3, column output: it is empty'],
      ['b', 'm.csv line 4, column destination: ../2 i'],
      ['b', 'm.csv line 5, column destination: the na'],
      ['b', 'm.csv line 6, column destination: its pa'],
    ]);
    expect(items[4]?.refused?.message).toContain('is longer than 4063 bytes. Choose a shorter one.');
  });

  it('converts a row once that is there twice, unless another one has its destination', async () => {
    const cwd = await makeTree({
      a: 'a',
      b: 'b',
      'm.csv': 'source,output,destination\na,pdf,1\na,pdf,1\na,pdf,2\n',
      'n.csv': 'source,output,destination\na,pdf,1\na,pdf,1\nb,pdf,1\na,html,4\nb,html,3\nb,html,4\n',
    });
    expect(await planManifest(cwd, 'm.csv', { dryRun: true })).toMatchObject({
      ...{ rows: 2, todo: 1, failures: { SOURCE_REPEATED: 1 }, leftOut: { repeated: 1 } },
    });
    expect(await planManifest(cwd, 'n.csv', { dryRun: true })).toMatchObject({
      ...{ rows: 5, todo: 1, failures: { SOURCE_REPEATED: 1, DESTINATION_TAKEN: 3 }, leftOut: { repeated: 1 } },
    });
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
