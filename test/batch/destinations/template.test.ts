import { defaultTemplate, parseTemplate } from '../../../src/batch/destinations/resolve';

const values = { dir: 'a/b', name: 'report', ext: 'pdf', from: 'docx' };

function fill(template: string, over: Partial<typeof values> = {}): string {
  const parsed = parseTemplate(template);
  if (typeof parsed !== 'function') throw new Error(parsed.problem);
  return parsed({ ...values, ...over });
}

describe('a template', () => {
  it('is filled with folder, name and extensions', () => {
    expect(fill(defaultTemplate)).toBe('a/b/report.pdf');
    expect(fill(defaultTemplate, { dir: '' })).toBe('report.pdf');
    expect(fill('{ext}/{name}.{from}.{ext}')).toBe('pdf/report.docx.pdf');
  });

  (process.platform === 'win32' ? it.skip : it)('keeps names as they are, as convert does', () => {
    expect(fill(defaultTemplate, { dir: 'x/CON', name: 'a:b?' })).toBe('x/CON/a:b?.pdf');
    expect(fill(defaultTemplate, { dir: '', name: 'b\\c' })).toBe('b\\c.pdf');
    expect(fill(defaultTemplate, { dir: '', name: '.hidden' })).toBe('.hidden.pdf');
  });

  it("can't be escaped from by a name", () => {
    expect(fill('{name}', { name: '..' })).toBe('output');
    expect(fill('{name}', { name: '../../etc/x' })).toBe('output/output/etc/x');
  });

  it.each([
    ['{nme}.pdf', 'there is no {nme}. Did you mean {name}?'],
    ['{whatever}', 'there is no {whatever}. Known are {dir}, {name}, {ext}, {from}.'],
    ['{name.pdf', 'a brace is unmatched. Write placeholders as {name}.'],
    ['{dir}/', 'it does not end with a file name. Add {name}.{ext}'],
    ['', 'it does not end with a file name. Add {name}.{ext}'],
    ['/out/{name}', 'it is absolute. Name the folder with --out, and the rest in the template.'],
    ['../{name}', 'it leaves the out folder. Leave out the dots.'],
  ])('%j is rejected', (template, problem) => expect(parseTemplate(template)).toEqual({ problem }));
});
