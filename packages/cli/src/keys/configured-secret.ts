import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { placeOf, readSecret, type SecretSource } from '../config/app-token';
import { ConfigError } from '../config/errors';

interface ConfiguredSecret {
  /** Begins a sentence: `The callback key`. */
  what: string;
  /** The keys that say where it is: `callbacks.key_env`. */
  keys: readonly [variable: string, file: string];
  variable: string | undefined;
  file: string | undefined;
  /** What to do when there is no such file. */
  cure: string;
}

/**
 * The text of a secret, which is masked in logs from then on, and where it was; undefined when the configuration does not say. Warns
 * about a file that others can read.
 * @throws CommandError also when both keys are there.
 */
export async function readConfiguredSecret(
  { env, output, secrets }: CommandContext,
  { what, keys, variable, file, cure }: ConfiguredSecret,
): Promise<{ text: string; place: string } | undefined> {
  if (variable !== undefined && file !== undefined) {
    const secret = what.charAt(0).toLowerCase() + what.slice(1);
    throw new CommandError('INPUT_UNUSABLE', [`${keys.join(' and ')} both tell of ${secret}; keep one.`]);
  }
  let source: SecretSource;
  if (variable !== undefined) source = { from: 'environment', variable };
  else if (file !== undefined) source = { from: 'file', file };
  else return undefined;
  try {
    const text = await readSecret(source, { what, cure, env, onWarning: (message) => output.warn(message) });
    secrets.hideWords(text);
    return { text, place: placeOf(source) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError('INPUT_UNUSABLE', [`${error.message}.`], { cause: error });
  }
}
