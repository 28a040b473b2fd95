import { FormatCatalog, formatName, requireRoute } from '../../src/engines/formats';
import { formatRows } from '../../src/engines/formats-table';

const all = new FormatCatalog(() => true);

function without(...packages: string[]): FormatCatalog {
  return new FormatCatalog((name) => !packages.includes(name));
}

function row(catalog: FormatCatalog, name: string) {
  const found = catalog.find(name);
  if (!found) throw new Error(`No format ${name}.`);
  return found;
}

describe('the format table', () => {
  it('has each name once, and every name has the form that requests may use', () => {
    const names = formatRows.map(formatName);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !all.isWellFormed(name))).toEqual([]);
  });

  it('has no format that is neither read nor written', () => {
    expect(formatRows.filter((format) => !format.reads && !format.writes)).toEqual([]);
  });

  it('reads an extension as its plain format, not as a variant', () => {
    const read = ['md', 'txt', 'html', 'JPEG', 'tif', 'xml', 'json', 'tex'].map((name) => {
      const format = all.ofExtension(name);
      return format && formatName(format);
    });
    expect(read).toEqual(['md', 'txt', 'html', 'jpg', 'tiff', 'xml-docbook', 'json-csl', 'tex']);
    expect(all.ofExtension('pdf')).toBeUndefined();
    expect(all.ofExtension('')).toBeUndefined();
  });

  it('is listed with what is read and what is written', () => {
    const [inputs, outputs] = (['inputs', 'outputs'] as const).map((end) => all.list(end).map(formatName));
    const endsOf = (name: string) => [inputs, outputs].map((names) => names?.includes(name));
    expect(endsOf('pdf')).toEqual([false, true]);
    expect(endsOf('svg')).toEqual([true, false]);
    expect(endsOf('md-gfm')).toEqual([true, true]);
  });
});

describe('an engine that is not installed', () => {
  it('takes its formats from the lists', () => {
    const catalog = without('sharp');
    expect(catalog.list('inputs').map(formatName)).not.toContain('png');
    expect(catalog.list('inputs').map(formatName)).toContain('md');
    expect(without('pandoc-wasm').list('outputs').map(formatName)).not.toContain('pdf');
  });

  it('is named, with the command that installs it, when a pair needs it', () => {
    const catalog = without('pandoc-wasm', '@myriaddreamin/typst-ts-node-compiler');
    expect(() => requireRoute(catalog, row(catalog, 'md'), row(catalog, 'pdf'))).toThrow(
      'There is no converter for md to pdf here. Run: npm install pandoc-wasm @myriaddreamin/typst-ts-node-compiler',
    );
  });

  it('does not stop pairs of other engines', () => {
    const catalog = without('@myriaddreamin/typst-ts-node-compiler');
    expect(requireRoute(catalog, row(catalog, 'md'), row(catalog, 'docx')).engine).toBe('pandoc');
  });
});
