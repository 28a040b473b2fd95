import { closestName } from 'temporal-file-conversion/internal/shared/closest-name';
import { appSchema, sectionSchemas } from './schema';

/** Keys of each section, by its name. */
export const keysOfSection: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(sectionSchemas).map(([name, schema]) => [name, Object.keys(schema.unwrap().shape)]),
);

export const appKeys: readonly string[] = Object.keys(appSchema.shape);

export const topLevelNames: readonly string[] = ['default_app', 'apps', ...keysOfSection.keys()];

export function variableOf(section: string, key: string): string {
  return `FILECONV_${section}_${key}`.toUpperCase();
}

/** `my-app` stands as MY_APP in the name of a variable. */
export function variablePartOf(appName: string): string {
  return appName.toUpperCase().replaceAll('-', '_');
}

/** Ends the message about an unknown name. */
export function didYouMean(name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  return closest === undefined ? `; known: ${known.join(', ')}` : `; did you mean "${closest}"?`;
}
