import { extensionOf } from './file-name';
import { type FormatCatalog, formatName, type Route } from './formats';
import type { FormatRow } from './formats-table';
import { TaskError } from './task-error';

/** Which formats a conversion is between; the errors are answered before any task begins. */

const formatErrors = {
  output: { structure: 'WRONG_OUTPUT_FORMAT_STRUCTURE', unknown: 'INVALID_OUTPUT_FORMAT' },
  input: { structure: 'WRONG_INPUT_FORMAT_STRUCTURE', unknown: 'INVALID_INPUT_FORMAT' },
  any: { structure: 'WRONG_FORMAT_STRUCTURE', unknown: 'INVALID_FORMAT' },
} as const;

/** The output format that a request names. */
export function chooseOutput(catalog: FormatCatalog, name: string): FormatRow {
  return requireFormat(catalog, name, 'output');
}

/** The input format that a request names. */
export function findInput(catalog: FormatCatalog, name: string): FormatRow {
  return requireFormat(catalog, name, 'input');
}

/** A format by its name; what is wrong with the name depends on the end of a conversion that it stands at. */
export function requireFormat(catalog: FormatCatalog, name: string, end: keyof typeof formatErrors): FormatRow {
  const { structure, unknown } = formatErrors[end];
  if (!catalog.isWellFormed(name)) throw new TaskError(structure, { subject: name });
  const row = catalog.find(name);
  if (!row) throw new TaskError(unknown, { subject: name });
  return row;
}

/** The input format of an uploaded file: the one that the request names, else the one that its extension means. */
export function chooseInput(
  catalog: FormatCatalog,
  { named, fileName }: { named: string | undefined; fileName: string },
): FormatRow {
  const extension = extensionOf(fileName);
  if (named !== undefined) {
    const input = findInput(catalog, named);
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
