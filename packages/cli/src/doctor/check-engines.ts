import { confinements } from 'temporal-file-conversion-service/internal/engines/confinement';
import { versionsOf } from 'temporal-file-conversion-service/internal/engines/presence';
import type { CommandContext } from '../command-context';
import { embeddedCatalog } from '../formats/embedded-catalog';
import { broken, ok, type Finding } from './finding';

/** What the embedded service converts with, and what shuts its conversions in, on this machine. */
export async function checkEngines(context: CommandContext): Promise<Finding[]> {
  const states = embeddedCatalog(context).engineStates();
  const versions = await Promise.all(states.filter(({ isHere }) => isHere).map(({ engine }) => versionsOf(engine)));
  const here = new Set(versions.flat());
  const missing = states
    .filter(({ adds }) => adds > 0)
    .map(({ engine, adds }) => `${engine.name} would add ${adds} pairs of formats`);
  const says = [[...here].join(', '), ...missing].join('; ');
  return [
    here.size > 0
      ? ok('engines', says)
      : broken('engines', 'the embedded service converts nothing', 'See what to install: fileconv formats --engines'),
    ok('confinement', `conversions ${confinements()[0].says}`),
  ];
}
