import { appKeys, didYouMean, keysOfSection, variableOf, variablePartOf } from './known-keys';
import { emptyLayer } from './layers';
import type { Layer, Origin } from './layers';
import { EnvironmentText } from './value-types';

/** Environment variables as an entry point hands them in. */
export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'FILECONV_';
/** Read by the lookup of the file, not a key of it. */
const notKeys = ['FILECONV_CONFIG'];
const appVariable = /^FILECONV_APPS_(.+)_(BASE_URL|APP_ID|TOKEN_ENV|TOKEN_FILE|TOKEN)$/;

/** The values that variables give. An empty variable counts as unset, as it does for Temporal's own. */
export function readEnvironment(env: Environment, appNamesInFile: readonly string[]): Layer {
  const layer = emptyLayer();
  const keyOfVariable = new Map([['FILECONV_DEFAULT_APP', 'default_app']]);
  for (const [section, keys] of keysOfSection) {
    for (const key of keys) keyOfVariable.set(variableOf(section, key), `${section}.${key}`);
  }

  for (const [variable, content] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || notKeys.includes(variable) || !content) continue;
    const origin: Origin = { source: 'environment', where: variable };
    const key = keyOfVariable.get(variable);
    const app = appVariable.exec(variable);
    if (key !== undefined) layer.values.set(key, { value: new EnvironmentText(content), origin });
    else if (app !== null) takeApp(app[1] ?? '', app[2] ?? '', content, origin);
    else layer.warnings.push(`${variable} is ignored: no key has this name${hintFor(variable)}`);
  }
  return layer;

  function takeApp(part: string, suffix: string, content: string, origin: Origin): void {
    const name =
      appNamesInFile.find((each) => variablePartOf(each) === part) ?? part.toLowerCase().replaceAll('_', '-');
    // The token itself is not taken over: what is kept is the name of the variable that holds it.
    if (suffix === 'TOKEN')
      layer.values.set(`apps.${name}.token_env`, { value: new EnvironmentText(origin.where), origin });
    else layer.values.set(`apps.${name}.${suffix.toLowerCase()}`, { value: new EnvironmentText(content), origin });
  }

  function hintFor(variable: string): string {
    if (variable.startsWith('FILECONV_APPS_')) {
      return `; for apps: FILECONV_APPS_<NAME>_<${[...appKeys, 'token'].join('|').toUpperCase()}>`;
    }
    const hint = didYouMean(variable, [...keyOfVariable.keys()]);
    return hint.startsWith('; known') ? '' : hint;
  }
}
