import { variablePartOf } from './known-keys';
import type { Layer } from './layers';

const tokenKeys = ['token_env', 'token_file'] as const;

/**
 * Leaves one source of the token for each app: a variable's choice replaces the file's, whichever key each used.
 * More than one in the same place, or none at all, is a problem.
 */
export function resolveTokenSources(values: Layer['values'], appNames: readonly string[]): { problems: string[] } {
  const problems: string[] = [];
  for (const name of appNames) {
    const given = tokenKeys.flatMap((key) => {
      const value = values.get(`apps.${name}.${key}`);
      return value === undefined ? [] : [{ key, origin: value.origin }];
    });
    const fromEnvironment = given.filter(({ origin }) => origin.source === 'environment');
    if (fromEnvironment.length > 0) {
      for (const { key, origin } of given) if (origin.source === 'file') values.delete(`apps.${name}.${key}`);
    }
    const chosen = fromEnvironment.length > 0 ? fromEnvironment : given;
    if (chosen.length > 1) {
      const [first, second] = chosen;
      const names =
        first?.origin.source === 'environment'
          ? `${first.origin.where} and ${second?.origin.where ?? ''} both say where`
          : `${first?.origin.where ?? ''}: apps.${name}.token_env and apps.${name}.token_file both say where`;
      problems.push(`${names} the token of app "${name}" is; keep one`);
    }
    if (chosen.length === 0) {
      problems.push(
        `app "${name}" has no token: set token_env or token_file in [apps.${name}], or FILECONV_APPS_${variablePartOf(name)}_TOKEN`,
      );
    }
  }
  return { problems };
}
