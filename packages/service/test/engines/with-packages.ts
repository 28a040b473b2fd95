import { isHere, programs } from '../../src/engines/programs';

/** Tests of programs of the machine: skipped unless all of them are here. The end of the run names those that were tested, and the missing. */
export const withPrograms = (names: readonly (keyof typeof programs)[], tests: () => void): void =>
  withPackages(new Map(names.map((name) => [programs[name].debian, isHere(programs[name])])), tests);

/** Packages of Debian, each with whether what it brings works here. The reporter knows these titles. */
export function withPackages(packages: ReadonlyMap<string, boolean>, tests: () => void): void {
  const missing = [...packages.keys()].filter((name) => packages.get(name) !== true);
  if (missing.length > 0) describe.skip(`without Debian's ${missing.join(' ')}`, tests);
  else describe(`with Debian's ${[...packages.keys()].join(' ')}`, tests);
}
