import { FormatCatalog, describeFormat } from 'temporal-file-conversion-service/internal/formats';
import type { FormatLookup } from './format-lookup';

/** What the embedded service converts. It comes with this package, so that nothing has to run to answer. */
export function embeddedFormats(): FormatLookup {
  const catalog = new FormatCatalog();
  return {
    target(format) {
      const row = catalog.find(format);
      return Promise.resolve(row && { extension: row.extensions[0] });
    },
    problemOf({ extension, from, to }) {
      const byExtension = catalog.ofExtension(extension);
      if (!byExtension) return Promise.resolve({ kind: 'unsupportedExtension' });
      const input = from === undefined ? byExtension : catalog.find(from);
      const output = catalog.find(to);
      if (!input) return Promise.resolve({ kind: 'unknownInput' });
      if (!input.extensions.includes(extension)) return Promise.resolve({ kind: 'extensionMismatch' });
      if (!output) return Promise.resolve({ kind: 'unknownOutput' });
      const route = catalog.route(input, output);
      if (!route) return Promise.resolve({ kind: 'noConverter' });
      const missingPackages = catalog.missingPackages(route.engine);
      return Promise.resolve(missingPackages.length === 0 ? undefined : { kind: 'noConverter', missingPackages });
    },
    inputs: () => Promise.resolve(catalog.list('inputs').map(describeFormat)),
    targets(name) {
      const input = name === undefined ? undefined : catalog.find(name);
      if (name !== undefined && !input) return Promise.resolve(undefined);
      return Promise.resolve(catalog.list('outputs', input).map(describeFormat));
    },
  };
}
