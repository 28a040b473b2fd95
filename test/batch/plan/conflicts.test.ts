import { link, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DraftRow } from '../../../src/batch/plan/candidate';
import { Conflicts } from '../../../src/batch/plan/conflicts';
import { addFiles, folderUri, makeTree } from '../folder';
import { convertAll, messagesOf, plan, readItems, writeParts, writeResults, retry } from './planning';

describe('conflicts of files', () => {
  it('name both sources and what to type', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'more/a.md': 'c' });
    const { problems, run } = await plan(cwd, { what: { sources: ['in', 'more'], to: 'pdf' } });
    const result = path.join(cwd, 'out/a.pdf');
    const apart =
      "Convert them into different --out folders, or keep their extensions apart in a batch: --template '{dir}/{name}.{from}.{ext}'.";
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

  it('leave a delivered result to its own row, also in the ledger, and replace it for none of them', async () => {
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
    // Without the other row, the owner of the result is clear, so it is replaced.
    await rm(path.join(cwd, 'in/a.txt'));
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1, bad: 0, replaced: 1 });
  });

  it('fail again in a retry, which converts neither', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'b', 'in/b.md': 'c', 'in/e.md': '' });
    await plan(cwd);
    await writeParts(cwd, []);
    await addFiles(cwd, { 'in/e.md': 'no more empty' });
    expect(await retry(cwd)).toMatchObject({ rows: 4, todo: 2, bad: 2, failures: { DESTINATION_TAKEN: 2 } });
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
  ])('include names that differ in %s alone', async (_, one, two) => {
    const [message = ''] = messagesOf((await plan(await makeTree({ [one]: '1', [two]: '2' }))).problems);
    expect(message).toContain('which many file systems take for the same name). Rename one of them.');
    expect(message).toContain(one);
    expect(message).toContain(two);
  });

  it('include sources that would be replaced, by name or through a link, in either order', async () => {
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

  it('include a result in a place where another result needs a folder', async () => {
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

  it('include an out folder that is a file, and an invalid template', async () => {
    const cwd = await makeTree({ 'in/x.md': 'a', out: '' });
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      `${path.join(cwd, 'out')} is not a folder. Name a folder with --out.`,
    ]);
    expect(messagesOf((await plan(cwd, { template: '{nam}.{ext}' })).problems)).toEqual([
      "The template {nam}.{ext} can't be used: there is no {nam}. Did you mean {name}?",
    ]);
  });
});

it('is found for each of 4,000 rows that share their destinations by two, and for no other row', () => {
  const rows = Array.from({ length: 5_000 }, (_, index): DraftRow => {
    const result = index < 4_000 ? index % 2_000 : index;
    const [source, destination] = [`file:///in/${index}.md`, `file:///out/${result}.pdf`];
    return { row: index + 1, place: '', shown: '', source, destination, output: 'pdf', bytes: 1, exists: false };
  });
  const conflicts = new Conflicts();
  for (const row of rows) expect(conflicts.add(row, { identity: `1:${row.row}`, isFound: true })).toBe(false);
  const others = rows.map((row) => conflicts.of(row)?.otherRow);
  expect(others).toEqual(rows.map(({ row }) => (row > 4_000 ? undefined : row > 2_000 ? row - 2_000 : row + 2_000)));
});
