import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLocalFiles } from '../../../src/storage/local-files';
import { Stores } from '../../../src/storage/stores';
import { MemoryFiles } from '../../support/memory-files';
import { addFiles, folderUri, makeTree } from '../folder';
import { messagesOf, plan, planManifest, readItems } from './planning';

describe('a plan of a manifest', () => {
  it('takes its rows verbatim, relative to its folder, and fills in what they leave open', async () => {
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

  it('keeps destinations in the out folder, or without one in its own folder, unless they are absolute', async () => {
    const elsewhere = await makeTree();
    const cwd = await makeTree({
      'm.csv': `source,output,destination\na,pdf,../../etc/x\nb,pdf,${elsewhere}/b.pdf\nc,pdf,x/../../c.pdf\nd,pdf,https://host/d.pdf\ne,pdf,${'x'.repeat(256)}\nf,pdf,"a\tb"\n`,
    });
    const out = path.join(cwd, 'out');
    expect(messagesOf((await planManifest(cwd, 'm.csv')).problems)).toEqual([
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
    expect(messagesOf((await planManifest(cwd, 'n.csv', { out: null })).problems)).toEqual([
      `n.csv line 2, column destination: ../../etc/x is outside of ${cwd}. Name a file in there, or an absolute path.`,
      'n.csv line 3, column source: b does not exist.',
      'n.csv line 4, column destination: file://host/c.pdf is not a file. Name a path, or a URI such as file:///srv/report.md.',
      'n.csv line 5, column source: Cannot use "gs://in/d": it is not a file: URI.',
      'n.csv line 6, column destination: Cannot use "gs://out/e.pdf": it is not a file: URI.',
    ]);
  });

  it('rejects an address with a user name or a password, and shows neither', async () => {
    const cwd = await makeTree({
      'm.csv': 'source,output,destination\nhttps://joe:SECRET@host/a.md,pdf,\na,pdf,s3://joe:SECRET@host/a.pdf\n',
      a: '',
    });
    expect(messagesOf((await planManifest(cwd, 'm.csv', { out: null })).problems)).toEqual([
      'm.csv line 2, column source: https://host/a.md holds a user name or a password. Take them out.',
      'm.csv line 3, column destination: s3://host/a.pdf holds a user name or a password. Take them out.',
    ]);
  });

  it('keeps the query of a signed web address out of messages, and needs a folder for the result', async () => {
    const cwd = await makeTree({ 'm.csv': 'source,output\nhttps://host/a b.md?sig=SECRET,pdf\n' });
    const look = () => Promise.resolve({ kind: 'none', reason: 'does not exist', isLink: false } as const);
    const files = new Stores({ file: createLocalFiles(), https: Object.assign(new MemoryFiles(), { look }) });
    expect(messagesOf((await planManifest(cwd, 'm.csv', { files, out: null })).problems)).toEqual([
      'm.csv line 2, column destination: the web can only be read. Name a folder with --out.',
    ]);
    await addFiles(cwd, { good: 'a', 'm.csv': 'source,output\nhttps://host/a b.md?sig=SECRET,pdf\ngood,pdf\n' });
    expect(messagesOf((await planManifest(cwd, 'm.csv', { files })).warnings)).toEqual([
      'm.csv line 2, column source: https://host/a b.md does not exist. Its item will fail.',
    ]);
    const [item] = await readItems(cwd);
    expect(item?.source).toBe('https://host/a%20b.md?sig=SECRET');
    expect(item?.destination).toBe(`${folderUri(cwd, 'out')}a%20b.pdf`);
  });

  it('rejects the same source and format twice, the same destination twice, and a result that is a source', async () => {
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

  it('converts a repeated row once, unless another row has its destination', async () => {
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

  it('reports a missing manifest as a problem', async () =>
    expect(messagesOf((await planManifest(await makeTree(), 'm.csv')).problems)).toEqual([
      'm.csv does not exist. Check the name and the folder.',
    ]));
});
