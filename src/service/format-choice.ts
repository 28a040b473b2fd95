import { extensionOf } from './file-name';
import { type FormatCatalog, formatName, type Route } from './formats';
import type { FormatRow } from './formats-table';
import { TaskError } from './task-error';

/** Which formats a conversion is between; the errors are answered before any task begins. */

/** The output format that a request names. */
export function chooseOutput(catalog: FormatCatalog, name: string): FormatRow {
  if (!catalog.isWellFormed(name)) throw new TaskError('WRONG_OUTPUT_FORMAT_STRUCTURE', { subject: name });
  const output = catalog.find(name);
  if (!output) throw new TaskError('INVALID_OUTPUT_FORMAT', { subject: name });
  return output;
}

/** The input format that a request names. */
export function findInput(catalog: FormatCatalog, name: string): FormatRow {
  if (!catalog.isWellFormed(name)) throw new TaskError('WRONG_INPUT_FORMAT_STRUCTURE', { subject: name });
  const input = catalog.find(name);
  if (!input) throw new TaskError('INVALID_INPUT_FORMAT', { subject: name });
  return input;
}

/** The input format of a file: the one that the request names, else the one that made the file or that its extension means. */
export function chooseInput(
  catalog: FormatCatalog,
  { named, fileName, madeAs }: { named: string | undefined; fileName: string; madeAs: string | null },
): FormatRow {
  const extension = extensionOf(fileName);
  if (named !== undefined) {
    const input = findInput(catalog, named);
    if (!input.extensions.includes(extension)) {
      throw new TaskError('NOT_MATCH_EXTENSION_AND_INPUT', { subject: named });
    }
    return input;
  }
  const made = madeAs === null ? undefined : catalog.find(madeAs);
  // Some variants are only written; their files are read as the plain format.
  const input = made?.reads ? made : (catalog.ofExtension(extension) ?? made);
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
