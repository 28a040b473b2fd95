import { chooseInput, FormatCatalog, requireFormat, requireRoute } from '../../src/engines/formats';
import { formatRows } from '../../src/engines/formats-table';

const all = new FormatCatalog({ isHere: () => true });

const without = (...packages: string[]): FormatCatalog =>
  new FormatCatalog({ isHere: (need) => 'npm' in need && !packages.includes(need.npm) });

function row(catalog: FormatCatalog, name: string) {
  const found = catalog.find(name);
  if (!found) throw new Error(`No format ${name}.`);
  return found;
}

describe('the format table', () => {
  it('has each name once, in a form that requests may use', () => {
    const names = formatRows.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9_]+)?$/.test(name))).toEqual([]);
  });

  it('has no format that is neither read nor written', () => {
    const used = new Set([...all.pairs().keys()].flatMap((pair) => pair.split(' ')));
    expect(formatRows.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([]);
  });

  it('reads an extension as its plain format, not as a variant', () => {
    const read = ['md', 'txt', 'html', 'JPEG', 'tif', 'xml', 'json', 'tex', 'pdf'].map((name) => {
      return all.ofExtension(name)?.name;
    });
    expect(read).toEqual(['md', 'txt', 'html', 'jpg', 'tiff', 'xml-docbook', 'json-csl', 'tex', 'pdf']);
    expect(all.ofExtension('')).toBeUndefined();
  });

  it('maps templates and macro documents to their plain formats, for reading only', () => {
    const read = ['docm', 'DOTX', 'dotm', 'xlsm', 'xltx', 'pptm', 'ppsx', 'ott', 'ots'].map(
      (name) => all.ofExtension(name)?.name,
    );
    expect(read).toEqual(['docx', 'docx', 'docx', 'xlsx', 'xlsx', 'pptx', 'pptx', 'odt', 'ods']);
    expect(chooseInput(all, { named: 'docx', fileName: 'a.docm' }).name).toBe('docx');
    expect(() => requireFormat(all, 'docm', 'output')).toThrow('docm');
  });

  it('lists separately what is read and what is written', () => {
    const [inputs, outputs] = (['inputs', 'outputs'] as const).map((end) => all.list(end).map(({ name }) => name));
    const endsOf = (name: string) => [inputs, outputs].map((names) => names?.includes(name));
    expect(endsOf('man-mdoc')).toEqual([true, false]);
    expect(endsOf('tex-beamer')).toEqual([false, true]);
    expect(endsOf('md-gfm')).toEqual([true, true]);
  });
});

describe('the enabled engines', () => {
  it('are all by default; others convert nothing', () => {
    const catalog = new FormatCatalog({ engines: ['typst'], isHere: () => true });
    expect(catalog.list('outputs').map(({ name }) => name)).toEqual(['pdf']);
    expect(catalog.ofExtension('png')).toBeUndefined();
    expect(() => requireRoute(catalog, row(catalog, 'md'), row(catalog, 'docx'))).toThrow(
      'There is no converter for md to docx.',
    );
  });

  it('are tried in their order', () => {
    const engineFor = (engines?: readonly string[]) => {
      const catalog = new FormatCatalog({ engines, isHere: () => true });
      return requireRoute(catalog, row(catalog, 'docx'), row(catalog, 'pdf')).engine;
    };
    expect(engineFor()).toBe('libreoffice');
    expect(engineFor(['typst', 'libreoffice'])).toBe('typst');
  });

  it('must have known names', () =>
    expect(() => new FormatCatalog({ engines: ['typst', 'pandok'] })).toThrow(
      /^There is no engine pandok; there are libreoffice, chromium, sharp, tesseract/,
    ));
});

describe('a machine without programs', () => {
  const bare = without();

  it('lists only what npm packages convert', () => {
    const listed = new Set((['inputs', 'outputs'] as const).flatMap((end) => bare.list(end).map(({ name }) => name)));
    expect(['md', 'pdf', 'xlsx', 'webp'].filter((name) => !listed.has(name))).toEqual([]);
    expect(['doc', 'mp4', 'mp3', 'ppt'].filter((name) => listed.has(name))).toEqual([]);
  });

  it('names the Debian package that a pair needs', () =>
    expect(() => requireRoute(bare, row(bare, 'doc'), row(bare, 'pdf'))).toThrow(
      'There is no converter for doc to pdf here. Run: apt-get install --no-install-recommends libreoffice-writer-nogui',
    ));
});

describe('parameters', () => {
  it('select a later engine if only that one accepts them', () => {
    expect(requireRoute(all, row(all, 'png'), row(all, 'pdf')).engine).toBe('sharp');
    expect(requireRoute(all, row(all, 'png'), row(all, 'pdf'), { ocr_language: 'deu' }).engine).toBe('tesseract');
  });

  it('select the first engine that accepts all of them', () => {
    const options = { page_size: 'a5', margin: 3 } as const;
    expect(requireRoute(all, row(all, 'png'), row(all, 'pdf'), options).engine).toBe('sharp');
    expect(() => requireRoute(all, row(all, 'md'), row(all, 'html'), options)).toThrow(
      'The parameter page_size is invalid: md to html takes none.',
    );
  });
});

describe('an engine that is not installed', () => {
  it('is listed with the pairs it would add', () => {
    const typst = without('@myriaddreamin/typst-ts-node-compiler')
      .engineStates()
      .find(({ engine }) => engine.name === 'typst');
    const inputs = [...without().pairs()].filter(([pair, engine]) => pair.endsWith(' pdf') && engine === 'typst');
    expect(typst).toMatchObject({
      isHere: false,
      serves: 0,
      adds: inputs.length,
      install: 'npm install @myriaddreamin/typst-ts-node-compiler',
    });
    expect(inputs.length).toBeGreaterThan(40);
  });

  it('is named with its install command if a pair needs it', () => {
    const catalog = without('pandoc-wasm', '@myriaddreamin/typst-ts-node-compiler');
    expect(() => requireRoute(catalog, row(catalog, 'md'), row(catalog, 'pdf'))).toThrow(
      'There is no converter for md to pdf here. Run: npm install pandoc-wasm @myriaddreamin/typst-ts-node-compiler',
    );
  });

  it('does not affect pairs of other engines', () => {
    const catalog = without('@myriaddreamin/typst-ts-node-compiler');
    expect(requireRoute(catalog, row(catalog, 'md'), row(catalog, 'docx')).engine).toBe('pandoc');
  });
});
