import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { readIfExists, replaceFile } from 'temporal-file-conversion/internal/storage/replace-file';
import { z } from 'zod';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';
import { placeOf, type AppProfile } from './config/app-token';
import { temporalTarget } from './config/temporal-connection';
import { isLoopback, isLoopbackAddress } from './config/value-types';
import { configuredServiceUrl } from './service/embedded-service';
import type { StackRecord } from './stack/stack-record';

const schema = z.array(z.object({ file: z.string(), origin: z.string(), what: z.string() }));

/** A person's permission for a configuration file to send something somewhere. */
type AllowedOrigin = z.infer<typeof schema>[number];

/** Where something confidential would be sent, and the configuration key that says so. */
interface Recipient {
  key: string;
  origin: string;
  hostname: string;
  what: string;
}

/** Each of these throws a CommandError `ORIGIN_NOT_ALLOWED`. */
export function requireAppAllowed(context: CommandContext, app: AppProfile): Promise<void> {
  return requireAllowed(context, [recipientOf(app)]);
}

/** The embedded service, which may be on another machine. */
export function requireServiceAllowed(context: CommandContext, url: string): Promise<void> {
  return requireAllowed(context, [serviceRecipient(context, url)]);
}

/** A stranger's Temporal would learn about files, and could give our worker jobs that read and write any file. */
export function requireTemporalAllowed(context: CommandContext): Promise<void> {
  return requireAllowed(context, temporalRecipients(context));
}

/** A stranger's callback receiver would learn about jobs and their results. */
export function requireCallbacksAllowed(context: CommandContext): Promise<void> {
  return requireAllowed(context, callbackRecipients(context));
}

/**
 * The record of a stack may have come with the folder, as a configuration may. A record whose Temporal is on another machine is
 * therefore refused; whoever wants that Temporal names it.
 */
export function requireStackAllowed({ config }: CommandContext, { temporal: { address } }: StackRecord): void {
  if (isLoopbackAddress(address)) return;
  const file = path.join(config.values.state.dir, 'stack.json');
  throw new CommandError('ORIGIN_NOT_ALLOWED', [
    `Nothing was sent: ${file}, which may have come with the folder, wants jobs at ${address}. If you trust it: export TEMPORAL_ADDRESS=${shellWord(address)}`,
  ]);
}

/**
 * Refuses recipients beyond this machine when the configuration file was found in the folder, which may be somebody else's, and not
 * named by the user.
 */
async function requireAllowed(context: CommandContext, recipients: readonly Recipient[]): Promise<void> {
  const { file, isFound } = context.config;
  if (!isFound || file === undefined) return;
  for (const { origin, what } of recipients.filter((each) => isForeign(context, each))) {
    const allowed = await readAllowed(context);
    if (allowed.some((each) => each.file === file && each.origin === origin && each.what === what)) continue;
    throw new CommandError('ORIGIN_NOT_ALLOWED', [
      `Nothing was sent: ${file}, which nobody has named, wants ${what} at ${origin}. If you trust it: fileconv config allow`,
    ]);
  }
}

/** What the configuration file of this folder sends, and where, beyond this machine. */
export function foreignRecipients(context: Pick<CommandContext, 'config' | 'env'>): AllowedOrigin[] {
  const { file, values } = context.config;
  if (file === undefined) return [];
  return [
    ...Object.values(values.apps).map(recipientOf),
    serviceRecipient(context, configuredServiceUrl(context)),
    ...temporalRecipients(context),
    ...callbackRecipients(context),
  ]
    .filter((recipient) => isForeign(context, recipient))
    .map(({ origin, what }) => ({ file, origin, what }));
}

function isForeign({ config }: Pick<CommandContext, 'config'>, { key, hostname }: Recipient): boolean {
  return config.origins[key]?.source === 'file' && !isLoopback(hostname);
}

function recipientOf({ name, baseUrl, token }: AppProfile): Recipient {
  return recipientAt(baseUrl, { key: `apps.${name}.base_url`, what: `the token in ${placeOf(token)}` });
}

function recipientAt(url: string, about: Pick<Recipient, 'key' | 'what'>): Recipient {
  const { origin, hostname } = new URL(url);
  return { ...about, origin, hostname };
}

function serviceRecipient({ config }: Pick<CommandContext, 'config'>, url: string): Recipient {
  const token = { from: 'file' as const, file: path.join(config.values.service.dataDir, 'embedded-app.token') };
  return recipientAt(url, { key: 'service.host', what: `the token in ${placeOf(token)}` });
}

/** None when the environment or the person's own configuration of Temporal says where it is. */
function temporalRecipients(context: Pick<CommandContext, 'config' | 'env'>): Recipient[] {
  const { origins } = context.config;
  const isOfProfile = origins['temporal.address'] === undefined;
  if (isOfProfile && (origins['temporal.config_file'] === undefined || context.env['TEMPORAL_ADDRESS'])) return [];
  const { address } = temporalTarget(context).connection;
  const url = `http://${address}`;
  return [
    {
      key: isOfProfile ? 'temporal.config_file' : 'temporal.address',
      origin: address,
      hostname: URL.canParse(url) ? new URL(url).hostname : address,
      what: "jobs, and Temporal's credentials,",
    },
  ];
}

function callbackRecipients({ config }: Pick<CommandContext, 'config'>): Recipient[] {
  const { publicBaseUrl, embeddedBaseUrl } = config.values.callbacks;
  const urls = { 'callbacks.public_base_url': publicBaseUrl, 'callbacks.embedded_base_url': embeddedBaseUrl };
  return Object.entries(urls).flatMap(([key, url]) =>
    url === undefined ? [] : [recipientAt(url, { key, what: 'callbacks about jobs' })],
  );
}

export async function allow(context: CommandContext, more: readonly AllowedOrigin[]): Promise<void> {
  const file = fileOf(context);
  const others = (await readAllowed(context)).filter((each) => !more.some((one) => one.file === each.file));
  await mkdir(path.dirname(file), { recursive: true });
  await replaceFile(file, `${JSON.stringify([...others, ...more], undefined, 2)}\n`, { mode: 0o600 });
}

async function readAllowed(context: CommandContext): Promise<AllowedOrigin[]> {
  try {
    return schema.parse(JSON.parse((await readIfExists(fileOf(context))) ?? '[]'));
  } catch (error) {
    const problem = `${fileOf(context)} can't be read. Remove it, and allow again.`;
    throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
  }
}

/** In the user's own folder: a file beside the configuration could come along with it. */
function fileOf({ env, homeDir }: CommandContext): string {
  const { XDG_CONFIG_HOME: chosen } = env;
  const folder = chosen === undefined || chosen === '' ? path.join(homeDir, '.config') : chosen;
  return path.join(folder, 'fileconv', 'allowed.json');
}
