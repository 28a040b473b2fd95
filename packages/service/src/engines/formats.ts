import type { Format } from 'temporal-file-conversion/contract';
import { extensionOf } from '../files/file-name';
import { TaskError } from '../shared/task-error';
import type { ConversionRequest } from './conversion';
import { type Codec, type Engine, type FormatRow, formatRows } from './formats-table';

/** The npm packages that make an engine work; all of them are optional dependencies. */
const enginePackages: Readonly<Record<Engine, readonly string[]>> = {
  sharp: ['sharp'],
  pandoc: ['pandoc-wasm'],
  'typst-pdf': ['pandoc-wasm', '@myriaddreamin/typst-ts-node-compiler'],
};

const nameStructure = /^[a-z0-9]+(-[a-z0-9_]+)?$/;

/** How to convert a pair: the engine, and what it calls the two formats. */
type Route = ConversionRequest['route'];

type Sublist = 'inputs' | 'outputs';

/** The public name: `docx`, or `md-gfm` for a variant. */
export function formatName(row: FormatRow): string {
  return row.type === null ? row.format : `${row.format}-${row.type}`;
}

/** The formats and pairs that the installed engines offer. */
export class FormatCatalog {
  readonly #isInstalled: (packageName: string) => boolean;
  readonly #byName = new Map<string, FormatRow>();
  readonly #byExtension = new Map<string, FormatRow>();

  constructor(isInstalled: (packageName: string) => boolean = isPackageInstalled) {
    this.#isInstalled = isInstalled;
    for (const row of formatRows) {
      this.#byName.set(formatName(row), row);
      // An extension means the plain format; variants are requested by name (xml and json have only variants).
      for (const extension of row.extensions) {
        const holder = this.#byExtension.get(extension);
        const better = !holder || (holder.type !== null && row.type === null);
        if (row.reads && better) this.#byExtension.set(extension, row);
      }
    }
    for (const row of formatRows) {
      for (const alias of row.extensions) {
        const name = row.type === null ? alias : `${alias}-${row.type}`;
        if (!this.#byName.has(name)) this.#byName.set(name, row);
      }
    }
  }

  /** Whether a name has the form `format` or `format-type`. */
  isWellFormed(name: string): boolean {
    return nameStructure.test(name.toLowerCase());
  }

  /** The format of a public name or of an alias (`jpeg`, `markdown-gfm`), or undefined. */
  find(name: string): FormatRow | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  /** The format that a file with this extension is read as, or undefined when no engine reads such files. */
  ofExtension(extension: string): FormatRow | undefined {
    return this.#byExtension.get(extension.toLowerCase());
  }

  /** How to convert the pair, or undefined when no engine does both ends; says nothing about installation. */
  route(input: FormatRow, output: FormatRow): Route | undefined {
    if (!input.reads || !output.writes) return undefined;
    if (!canFeed(input.reads, output.writes)) return undefined;
    return { engine: output.writes.engine, reader: input.reads.name, writer: output.writes.name };
  }

  /** The packages that have to be installed before this route works. */
  missingPackages(engine: Engine): string[] {
    return enginePackages[engine].filter((packageName) => !this.#isInstalled(packageName));
  }

  /** Whether an installed engine converts the pair. */
  converts(input: FormatRow, output: FormatRow): boolean {
    const route = this.route(input, output);
    return route !== undefined && this.missingPackages(route.engine).length === 0;
  }

  /** The formats at one end of a conversion; with `partner`, only those that convert from or to it. */
  list(sublist: Sublist, partner?: FormatRow): FormatRow[] {
    const engines = Object.keys(enginePackages) as Engine[];
    const usable = new Set(engines.filter((engine) => this.missingPackages(engine).length === 0));
    return formatRows.filter((row) => {
      const codec = sublist === 'inputs' ? row.reads : row.writes;
      if (!codec || !usable.has(codec.engine)) return false;
      if (!partner) return true;
      return sublist === 'inputs' ? this.converts(row, partner) : this.converts(partner, row);
    });
  }
}

/** A format as `format/get` and `convert/formats` describe it. */
export function describeFormat(row: FormatRow): Format {
  return {
    format: formatName(row),
    extension: row.extensions[0],
    type: row.type,
    name: row.title,
    title: row.title,
    categories: [...row.categories],
  };
}

/** A PDF is made from whatever pandoc reads; otherwise one engine does both ends. */
function canFeed(reads: Codec, writes: Codec): boolean {
  return reads.engine === writes.engine || (reads.engine === 'pandoc' && writes.engine === 'typst-pdf');
}

function isPackageInstalled(packageName: string): boolean {
  try {
    require.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}

const formatErrors = {
  output: { structure: 'WRONG_OUTPUT_FORMAT_STRUCTURE', unknown: 'INVALID_OUTPUT_FORMAT' },
  input: { structure: 'WRONG_INPUT_FORMAT_STRUCTURE', unknown: 'INVALID_INPUT_FORMAT' },
  any: { structure: 'WRONG_FORMAT_STRUCTURE', unknown: 'INVALID_FORMAT' },
} as const;

/** A format by its name. `end` selects the error codes. */
export function requireFormat(catalog: FormatCatalog, name: string, end: keyof typeof formatErrors): FormatRow {
  const { structure, unknown } = formatErrors[end];
  if (!catalog.isWellFormed(name)) throw new TaskError(structure, { subject: name });
  const row = catalog.find(name);
  if (!row) throw new TaskError(unknown, { subject: name });
  return row;
}

/** The input format of an uploaded file: the one that the request names, otherwise that of the extension. */
export function chooseInput(
  catalog: FormatCatalog,
  { named, fileName }: { named: string | undefined; fileName: string },
): FormatRow {
  const extension = extensionOf(fileName);
  if (named !== undefined) {
    const input = requireFormat(catalog, named, 'input');
    if (!input.extensions.includes(extension)) {
      throw new TaskError('NOT_MATCH_EXTENSION_AND_INPUT', { subject: named });
    }
    return input;
  }
  const input = catalog.ofExtension(extension);
  if (!input) throw new TaskError('INVALID_INPUT_FORMAT', { subject: extension });
  return input;
}

/** How to convert the pair with what is installed. */
export function requireRoute(catalog: FormatCatalog, input: FormatRow, output: FormatRow): Route {
  const pair = `${formatName(input)} to ${formatName(output)}`;
  const route = catalog.route(input, output);
  if (!route) throw new TaskError('NO_CONVERTER_INPUT_TO_OUTPUT', { subject: pair });
  const missing = catalog.missingPackages(route.engine);
  if (missing.length > 0) {
    const message = `There is no converter for ${pair} here. Run: npm install ${missing.join(' ')}`;
    throw new TaskError('NO_CONVERTER_INPUT_TO_OUTPUT', { message });
  }
  return route;
}
