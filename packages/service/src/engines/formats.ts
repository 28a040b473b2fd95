import type { Format } from 'temporal-file-conversion/contract';
import { fileExtension } from '../files/file-name';
import { TaskError } from '../shared/task-error';
import type { EngineRequest, Parameters } from './conversion';
import { engineNames, type Need } from './engine';
import { engines } from './engines-table';
import { type FormatRow, formatRows } from './formats-table';
import { installCommand, isHere } from './programs';

const nameStructure = /^[a-z0-9]+(-[a-z0-9_]+)?$/;

type Route = EngineRequest['route'];

/** The conversion of a generated one-word file. */
export type Word = Omit<EngineRequest, 'inputPath' | 'outputPath' | 'timeoutMs'>;

/** A family of formats of an engine, with those of its needs that are missing on this machine. */
type Lane = ReturnType<typeof lanesOf>[number];

interface CatalogOptions {
  /** Names of the engines to use, in order of preference. Default: all. */
  engines?: readonly string[] | undefined;
  isHere?: (need: Need) => boolean;
}

export class FormatCatalog {
  readonly #lanes: readonly Lane[];
  readonly #byName = new Map<string, FormatRow>();
  readonly #byExtension = new Map<string, FormatRow>();

  /** @throws Error for an unknown engine name. */
  constructor(options: CatalogOptions = {}) {
    this.#lanes = lanesOf(options);
    for (const row of formatRows) {
      this.#byName.set(row.name, row);
      if (!this.#lanes.some(({ family }) => family.reads.has(row.name))) continue;
      // An extension means the plain format; variants are requested by name (xml and json have only variants).
      for (const extension of [...row.extensions, ...row.readsAlso]) {
        const holder = this.#byExtension.get(extension);
        if (!holder || (holder.type !== null && row.type === null)) this.#byExtension.set(extension, row);
      }
    }
    for (const row of formatRows) {
      for (const alias of [...row.extensions, ...row.readsAlso]) {
        const name = row.type === null ? alias : `${alias}-${row.type}`;
        if (!this.#byName.has(name)) this.#byName.set(name, row);
      }
    }
  }

  /** The format of a public name or an alias (`jpeg`, `markdown-gfm`), or undefined. */
  find(name: string): FormatRow | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  /** The same for a result: no file is written as a template or with macros. */
  findOutput(name: string): FormatRow | undefined {
    const row = this.find(name);
    return row?.readsAlso.includes(name.toLowerCase()) === true ? undefined : row;
  }

  /** The format that a file with this extension is read as, or undefined if no engine reads it. */
  ofExtension(extension: string): FormatRow | undefined {
    return this.#byExtension.get(extension.toLowerCase());
  }

  converts(input: FormatRow, output: FormatRow): boolean {
    return this.lanesFor(input, output).some(isUsable);
  }

  /** The formats at one end of a conversion; with `partner`, only those that convert from or to it. */
  list(sublist: 'inputs' | 'outputs', partner?: FormatRow): FormatRow[] {
    const usable = this.#lanes.filter(isUsable);
    return formatRows.filter((row) => {
      if (partner) return sublist === 'inputs' ? this.converts(row, partner) : this.converts(partner, row);
      return usable.some(({ family }) => (sublist === 'inputs' ? family.reads : family.writes).has(row.name));
    });
  }

  /** Every pair of formats that converts here (`md pdf`), with the name of its engine. */
  pairs(): Map<string, string> {
    return pairsOf(this.#lanes.filter(isUsable));
  }

  /** The engines that may be used, in order of preference. */
  engineStates() {
    const pairs = this.pairs();
    const served = [...pairs.values()];
    return [...new Set(this.#lanes.map(({ engine }) => engine))].map((engine) => {
      const lanes = this.#lanes.filter((lane) => lane.engine === engine);
      const absent = lanes.filter(({ missing }) => missing.length > 0);
      return {
        engine,
        isHere: absent.length < lanes.length,
        /** Number of pairs of formats for which this engine is chosen. */
        serves: served.filter((name) => name === engine.name).length,
        /** Number of pairs that nothing here converts, and that this engine would convert with its missing needs. */
        adds: [...pairsOf(absent).keys()].filter((pair) => !pairs.has(pair)).length,
        ...(absent.length > 0 && { install: installCommand(absent.flatMap(({ missing }) => missing)) }),
      };
    });
  }

  /** The families that convert the pair, with or without missing needs, in order of preference. */
  lanesFor(input: FormatRow, output: FormatRow): Lane[] {
    return this.#lanes.filter(({ family }) => family.reads.has(input.name) && family.writes.has(output.name));
  }
}

function isUsable({ missing }: Lane): boolean {
  return missing.length === 0;
}

function pairsOf(lanes: readonly Lane[]): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const { engine, family } of lanes) {
    for (const input of family.reads.keys()) {
      for (const output of family.writes.keys()) {
        const pair = `${input} ${output}`;
        if (!pairs.has(pair)) pairs.set(pair, engine.name);
      }
    }
  }
  return pairs;
}

function lanesOf({ engines: names = engineNames, isHere: has = isHere }: CatalogOptions) {
  return [...new Set(names)].flatMap((name) => {
    const engine = engines.find((each) => each.name === name);
    if (!engine) throw new Error(`There is no engine ${name}; there are ${engineNames.join(', ')}.`);
    return engine.families.map((family) => {
      const missing = [...engine.needs, ...(family.needs ?? [])].filter((need) => !has(need));
      return { engine, family, missing };
    });
  });
}

/** A format as `format/get` and `convert/formats` describe it. */
export function describeFormat(row: FormatRow): Format {
  return {
    format: row.name,
    extension: row.extensions[0],
    type: row.type,
    name: row.title,
    title: row.title,
    categories: [...row.categories],
  };
}

const formatErrors = {
  output: { structure: 'WRONG_OUTPUT_FORMAT_STRUCTURE', unknown: 'INVALID_OUTPUT_FORMAT' },
  input: { structure: 'WRONG_INPUT_FORMAT_STRUCTURE', unknown: 'INVALID_INPUT_FORMAT' },
  any: { structure: 'WRONG_FORMAT_STRUCTURE', unknown: 'INVALID_FORMAT' },
} as const;

/** A format by its name; `end` selects the error codes. @throws TaskError */
export function requireFormat(catalog: FormatCatalog, name: string, end: keyof typeof formatErrors): FormatRow {
  const { structure, unknown } = formatErrors[end];
  if (!nameStructure.test(name.toLowerCase())) throw new TaskError(structure, { subject: name });
  const row = end === 'output' ? catalog.findOutput(name) : catalog.find(name);
  if (!row) throw new TaskError(unknown, { subject: name });
  return row;
}

/** The input format of an uploaded file: the one that the request names, otherwise that of the extension. @throws TaskError */
export function chooseInput(
  catalog: FormatCatalog,
  { named, fileName }: { named: string | undefined; fileName: string },
): FormatRow {
  const extension = fileExtension(fileName);
  const input = named === undefined ? catalog.ofExtension(extension) : requireFormat(catalog, named, 'input');
  if (!input) throw new TaskError('INVALID_INPUT_FORMAT', { subject: extension });
  if ([...input.extensions, ...input.readsAlso].includes(extension)) return input;
  throw new TaskError('NOT_MATCH_EXTENSION_AND_INPUT', { subject: named ?? extension });
}

/** The conversion of a Markdown word by the engine of the pair. Undefined if that engine reads no Markdown. */
export function wordFor(catalog: FormatCatalog, pair: { input: string; output: string }): Word | undefined {
  const [markdown, input, output] = [catalog.find('md'), catalog.find(pair.input), catalog.findOutput(pair.output)];
  if (!markdown || !input || !output) return undefined;
  const [lane, ofPair] = [markdown, input].map((each) => catalog.lanesFor(each, output).find(isUsable));
  if (!lane || lane.engine !== ofPair?.engine) return undefined;
  const formats = { inputFormat: markdown.name, outputFormat: output.name };
  return { route: requireRoute(catalog, markdown, output), ...formats, title: 'word', parameters: {} };
}

/** The route through the first installed engine that takes these parameters. @throws TaskError if there is none. */
export function requireRoute(
  catalog: FormatCatalog,
  input: FormatRow,
  output: FormatRow,
  parameters: Parameters = {},
): Route {
  const lanes = catalog.lanesFor(input, output);
  const usable = lanes.filter(isUsable);
  const given = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const lane = usable.find(({ family: { takes = [] } }) => given.every((name) => takes.some((each) => each === name)));
  if (lane) {
    const { engine, family } = lane;
    return {
      engine: engine.name,
      reader: family.reads.get(input.name) ?? input.name,
      writer: family.writes.get(output.name) ?? output.name,
    };
  }
  const pair = `${input.name} to ${output.name}`;
  if (usable.length > 0) {
    const takes = new Set<string>(usable.flatMap(({ family }) => family.takes ?? []));
    const subject = given.find((name) => !takes.has(name)) ?? given.join(' with ');
    const reason = takes.size === 0 ? `${pair} takes none` : `${pair} takes ${[...takes].join(', ')}`;
    throw new TaskError('INVALID_PARAMETER', { subject, reason });
  }
  const [first] = lanes;
  if (!first) throw new TaskError('NO_CONVERTER_INPUT_TO_OUTPUT', { subject: pair });
  const message = `There is no converter for ${pair} here. Run: ${installCommand(first.missing)}`;
  throw new TaskError('NO_CONVERTER_INPUT_TO_OUTPUT', { message });
}
