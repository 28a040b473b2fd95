import { isHere, programs } from '../../src/engines/programs';

/** Tests that need programs of the machine, skipped unless all are installed. The end of the run lists the tested and the missing ones. */
export const withPrograms = (names: readonly (keyof typeof programs)[], tests: () => void): void =>
  withPackages(new Map(names.map((name) => [programs[name].debian, isHere(programs[name])])), tests);

/** `packages`: Debian packages, each with whether its program works here. engines-tested.mjs parses these titles. */
export function withPackages(packages: ReadonlyMap<string, boolean>, tests: () => void): void {
  const missing = [...packages.keys()].filter((name) => packages.get(name) !== true);
  if (missing.length > 0) describe.skip(`without Debian's ${missing.join(' ')}`, tests);
  else describe(`with Debian's ${[...packages.keys()].join(' ')}`, tests);
}
