import { defined, isNoticeSecret, noticeSecretProblem, noticeTypes } from 'temporal-file-conversion/job';
import type { NotifySettings } from 'temporal-file-conversion/worker';
import type { CommandContext } from '../command-context';
import { CommandError, explaining } from '../command-error';
import { secretPlace, readSecret, type SecretSource } from '../config/app-token';
import { ConfigError } from '../config/errors';

export function isEncrypting({ config }: CommandContext): boolean {
  const { keyEnv, keyFile } = config.values.encryption;
  return keyEnv !== undefined || keyFile !== undefined;
}

interface ConfiguredSecret {
  /** Begins a sentence: `The callback key`. */
  what: string;
  /** Prefix of the keys: `callbacks.key` for `callbacks.key_env` and `callbacks.key_file`. */
  at: string;
  variable: string | undefined;
  file: string | undefined;
  fix: string;
}

type FoundSecret = Promise<{ text: string; place: string } | undefined>;

/** Secrets read so far, by prefix: each is read, and warned about, only once. */
const read = new WeakMap<CommandContext['secrets'], Map<string, FoundSecret>>();

/**
 * The text and place of a secret, which is masked in logs from then on; undefined if none is configured. Warns about a file that others
 * can read.
 * @throws CommandError also if both keys are set.
 */
export function readConfiguredSecret(context: CommandContext, secret: ConfiguredSecret): FoundSecret {
  const known = read.get(context.secrets) ?? new Map<string, FoundSecret>();
  read.set(context.secrets, known);
  const found = known.get(secret.at) ?? findSecret(context, secret);
  known.set(secret.at, found);
  return found;
}

async function findSecret(
  { env, output, secrets }: CommandContext,
  { what, at, variable, file, fix }: ConfiguredSecret,
): FoundSecret {
  if (variable !== undefined && file !== undefined) {
    const secret = what.charAt(0).toLowerCase() + what.slice(1);
    throw new CommandError('INPUT_UNUSABLE', [`${at}_env and ${at}_file both tell of ${secret}; keep one.`]);
  }
  let source: SecretSource;
  if (variable !== undefined) source = { from: 'environment', variable };
  else if (file !== undefined) source = { from: 'file', file };
  else return undefined;
  const text = await readSecret(source, { what, fix, env, onWarning: (message) => output.warn(message) }).catch(
    explaining(ConfigError, 'INPUT_UNUSABLE', ({ message }) => `${message}.`),
  );
  secrets.hideWords(text);
  return { text, place: secretPlace(source) };
}

const makeSecret = 'make one: echo "whsec_$(openssl rand -base64 32)", readable by you only';

/** The listener that a worker notifies. @throws CommandError if the secret can't be read or used. */
export async function notifySettings(context: CommandContext): Promise<NotifySettings> {
  const { url, secretEnv: variable, secretFile: file, events, allowedHosts } = context.config.values.notify;
  const what = 'The secret of notices';
  const found = await readConfiguredSecret(context, { what, at: 'notify.secret', variable, file, fix: makeSecret });
  const secret = found?.text.trim();
  if (found && !isNoticeSecret(secret ?? '')) {
    throw new CommandError('INPUT_UNUSABLE', [`${what}: ${found.place} ${noticeSecretProblem}`]);
  }
  return { ...defined({ url, secret }), events: noticeTypes.filter((type) => events.includes(type)), allowedHosts };
}
