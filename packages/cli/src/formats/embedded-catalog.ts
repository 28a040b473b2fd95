import { FormatCatalog } from 'temporal-file-conversion-service/internal/engines/formats';
import type { CommandContext } from '../command-context';

/** What the embedded service converts on this machine, with the engines that its configuration names. */
export function embeddedCatalog({ config }: Pick<CommandContext, 'config'>): FormatCatalog {
  return new FormatCatalog({ engines: config.values.service.engines });
}
