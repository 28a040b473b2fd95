import { appendFile, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { leadsInto, makeFolder, readIfExists, replaceFile } from 'temporal-file-conversion/storage';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import { CommandError, explainStateFolder } from './command-error';
import type { PrivilegedValue } from './config/privileged-values';
import type { Environment } from './config/sources';
import type { LoadedConfig } from './config/load-config';

/** Permissions for values of found configuration files. */
const schema = z.array(z.object({ file: z.string(), key: z.string(), value: z.string() }));

interface Context {
  config: LoadedConfig;
  env: Environment;
  homeDir: string;
}

/**
 * Refuses what may have come with the folder, such as a clone, until the user has allowed it: configuration values that reach out of
 * the folder, and state folders, whose jobs a worker would run.
 * @throws CommandError `NOT_ALLOWED`
 */
export async function requireAllowed(context: Context): Promise<void> {
  const { file = '', privileged } = context.config;
  const allowed = privileged.length === 0 ? [] : await readAllowed(context);
  const isAllowed = ({ key, value }: PrivilegedValue) =>
    allowed.some((each) => each.file === file && each.key === key && each.value === value);
  const wanted = privileged.filter((each) => !isAllowed(each)).map(({ key, value }) => `${key} = ${value}`);
  const problems =
    wanted.length === 0 ? [] : [`${file} was found here, not named by you, and sets ${wanted.join(', ')}.`];
  for (const folder of unnamedFolders(context)) {
    if (!(await isMissingOrEmpty(folder)) && !(await isOwn(context, folder)))
      problems.push(`${folder} was not created here: it may have come with the folder, and its jobs would run.`);
  }
  if (problems.length === 0) return;
  const next = 'Look at it, and if you trust it: fileconv config allow';
  throw new CommandError('NOT_ALLOWED', [`Nothing was done: ${problems.join(' ')} ${next}`]);
}

/** Allows what `requireAllowed` refuses, and revokes permissions for values that the file no longer has. */
export async function allow(context: Context): Promise<{ privileged: readonly PrivilegedValue[]; folders: string[] }> {
  const { file, privileged } = context.config;
  if (file !== undefined && context.config.isFound) {
    const others = (await readAllowed(context)).filter((each) => each.file !== file);
    const now = [...others, ...privileged.map((each) => ({ file, ...each }))];
    await makeFolder(ownFolder(context));
    await replaceFile(ownFile(context, 'allowed.json'), `${JSON.stringify(now, undefined, 2)}\n`, { mode: 0o600 });
  }
  const folders: string[] = [];
  for (const folder of unnamedFolders(context)) {
    if ((await isMissingOrEmpty(folder)) || (await isOwn(context, folder))) continue;
    await refuseLinks(folder);
    await remember(context, folder);
    folders.push(folder);
  }
  return { privileged, folders };
}

/**
 * Creates the state folders, readable by their owner only; must be called before anything is written there. Folders that the user
 * named are left to whoever writes there.
 */
export async function makeStateFolders(context: Context): Promise<void> {
  for (const folder of unnamedFolders(context)) {
    await makeOwn(context, folder).catch((error: unknown) => {
      throw explainStateFolder(folder, error);
    });
  }
}

/** The state folder, for uses that don't justify creating one; undefined if it was neither created nor named. */
export async function stateFolderIfAny(context: Context): Promise<string | undefined> {
  const { dir } = context.config.values.state;
  return unnamedFolders(context).includes(dir) && (await isMissingOrEmpty(dir)) ? undefined : dir;
}

/** Remembers this user's last stack, for commands in other folders. Best effort. */
export async function rememberStack(context: Context): Promise<void> {
  await makeFolder(ownFolder(context))
    .then(() => replaceFile(ownFile(context, 'last-stack'), context.config.values.state.dir))
    .catch(() => undefined);
}

/** The state folder of the stack that this user started last; it may no longer run. */
export function lastStackFolder(context: Context): Promise<string | undefined> {
  return readIfExists(ownFile(context, 'last-stack')).catch(() => undefined);
}

/** Safe if several processes create it at once: the others find it remembered, or still empty. */
async function makeOwn(context: Context, folder: string): Promise<void> {
  if (!(await isMissingOrEmpty(folder))) return;
  await makeFolder(path.dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  });
  await remember(context, folder);
}

/** The state folders that the user did not name, directly or in a configuration file they named. */
function unnamedFolders({ config: { values, origins, isFound } }: Context): string[] {
  const isNamed = (key: string) => origins[key] !== undefined && !(isFound && origins[key].source === 'file');
  const { dir } = values.state;
  const { dataDir } = values.service;
  const isApart = path.relative(dir, dataDir).startsWith('..');
  return [...(isNamed('state.dir') ? [] : [dir]), ...(isApart && !isNamed('service.data_dir') ? [dataDir] : [])];
}

async function isMissingOrEmpty(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    // Whatever is in its place is reported when the folder is used.
    if (['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) return true;
    throw explainStateFolder(folder, error);
  }
}

async function isOwn(context: Context, folder: string): Promise<boolean> {
  const known = (await readIfExists(ownFile(context, 'folders')).catch(() => undefined)) ?? '';
  return known.split('\n').includes(await identityOf(folder));
}

async function remember(context: Context, folder: string): Promise<void> {
  const own = ownFolder(context);
  const line = `${await identityOf(folder)}\n`;
  try {
    await makeFolder(own);
    await appendFile(ownFile(context, 'folders'), line, { mode: 0o600 });
  } catch (error) {
    const problem = `${own} cannot be written to, where fileconv remembers the folders that it makes. Name the state folder yourself: export FILECONV_STATE_DIR=PATH`;
    throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
  }
}

/** Survives a move of the folder, but differs in a copy. */
async function identityOf(folder: string): Promise<string> {
  const { ino, birthtimeNs } = await stat(folder, { bigint: true });
  return `${ino} ${birthtimeNs}`;
}

/** A trusted folder must not contain links, through which writes would land elsewhere. */
async function refuseLinks(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const link = entries.find((entry) => entry.isSymbolicLink());
  const isItself = (await lstat(folder)).isSymbolicLink() && !(await leadsInto([path.dirname(folder)], folder));
  if (link === undefined && !isItself) return;
  const found = link === undefined ? folder : path.join(link.parentPath, link.name);
  throw new CommandError('NOT_ALLOWED', [
    `${found} is a link: what fileconv writes there would land elsewhere. Remove it, or remove ${folder}.`,
  ]);
}

async function readAllowed(context: Context): Promise<z.infer<typeof schema>> {
  const file = ownFile(context, 'allowed.json');
  try {
    return schema.parse(JSON.parse((await readIfExists(file)) ?? '[]'));
  } catch (error) {
    const problem = `${file} can't be read. Remove it, and allow again.`;
    throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
  }
}

function ownFile(context: Context, name: 'last-stack' | 'folders' | 'allowed.json'): string {
  return path.join(ownFolder(context), name);
}

/** In the user's own configuration folder: a file beside the configuration could have come with it. */
function ownFolder({ env, homeDir }: Context): string {
  const { XDG_CONFIG_HOME: chosen } = env;
  return path.join(chosen === undefined || chosen === '' ? path.join(homeDir, '.config') : chosen, 'fileconv');
}
