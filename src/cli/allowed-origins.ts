import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { TokenSource } from '../config';
import { systemErrorCode } from '../shared/system-error';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';

const schema = z.array(z.object({ file: z.string(), origin: z.string(), token: z.string() }));

/** A person has said: this configuration file may send this token to this origin. */
export type AllowedOrigin = z.infer<typeof schema>[number];

interface Recipient {
  /** Of the configuration, which says where the token goes. */
  key: string;
  url: string;
  token: TokenSource;
}

/**
 * Refuses to send a token where a configuration file wants it that nobody has named: it lay in the folder, which may be somebody else's. This machine
 * is no stranger.
 * @throws CommandError `ORIGIN_NOT_ALLOWED`
 */
export async function requireAllowed(context: CommandContext, { key, url, token }: Recipient): Promise<void> {
  const { file, isFound, origins } = context.config;
  const { origin, hostname } = new URL(url);
  if (!isFound || file === undefined || origins[key]?.source !== 'file' || isLoopback(hostname)) return;
  const wanted = { file, origin, token: placeOf(token) };
  const allowed = await readAllowed(context);
  if (allowed.some((each) => each.file === file && each.origin === origin && each.token === wanted.token)) return;
  throw new CommandError('ORIGIN_NOT_ALLOWED', [
    `Nothing was sent: ${file}, which nobody has named, wants the token in ${wanted.token} at ${origin}. If you trust it: fileconv config allow`,
  ]);
}

/** What the configuration file of this folder sends, and where, beyond this machine. */
export function foreignRecipients({ config }: Pick<CommandContext, 'config'>): AllowedOrigin[] {
  const { file, values, origins } = config;
  if (file === undefined) return [];
  return Object.values(values.apps).flatMap(({ name, baseUrl, token }) => {
    const { origin, hostname } = new URL(baseUrl);
    const isForeign = origins[`apps.${name}.base_url`]?.source === 'file' && !isLoopback(hostname);
    return isForeign ? [{ file, origin, token: placeOf(token) }] : [];
  });
}

export async function allow(context: CommandContext, more: readonly AllowedOrigin[]): Promise<void> {
  const file = fileOf(context);
  const others = (await readAllowed(context)).filter((each) => !more.some((one) => one.file === each.file));
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.new`;
  await writeFile(temporary, `${JSON.stringify([...others, ...more], undefined, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}

async function readAllowed(context: CommandContext): Promise<AllowedOrigin[]> {
  try {
    return schema.parse(JSON.parse(await readFile(fileOf(context), 'utf8')));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw new CommandError('STATE_UNUSABLE', [`${fileOf(context)} can't be read. Remove it, and allow again.`], {
      cause: error,
    });
  }
}

/** In the user's own folder: what lies beside the configuration would come with it. */
function fileOf({ env, homeDir }: CommandContext): string {
  const { XDG_CONFIG_HOME: chosen } = env;
  const folder = chosen === undefined || chosen === '' ? path.join(homeDir, '.config') : chosen;
  return path.join(folder, 'fileconv', 'allowed.json');
}

function placeOf(token: TokenSource): string {
  return token.from === 'environment' ? `the variable ${token.variable}` : `the file ${token.file}`;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
