import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  asFolder,
  folderOf,
  isLocal,
  resolveName,
  shownAsWritten,
  shownFolder,
  uriOfPath,
} from 'temporal-file-conversion/batch';
import {
  type BatchManifest,
  type BatchPlan,
  type BatchSources,
  defined,
  extensionFromName,
  type Unconvertible,
} from 'temporal-file-conversion/job';
import { type FileStore, shownPath } from 'temporal-file-conversion/storage';
import type { CommandContext } from '../command-context';
import { CommandError, interrupted, throwIfAny } from '../command-error';
import type { ConvertFlags } from '../convert/run-job';
import { embeddedFormats } from '../formats/formats';
import { isEncrypting } from '../keys/secrets';
import { isEmbedded } from '../service/profiles';
import { filesOf } from '../stores';
import { batchFolder, folderUri, requireFolder } from './batch-folder';

export interface RunFlags extends ConvertFlags {
  to?: string[];
  runs?: string;
  name?: string;
  manifest?: string;
  recursive?: boolean;
  exclude: string[];
  modifiedSince?: Date;
  filesFrom?: string;
  template?: string;
  window?: number;
  stopAfter?: { failures?: number; percent?: number };
  maxVcredits?: number;
  unconvertible?: Unconvertible;
  notify?: string;
  onEnd?: string;
  dryRun?: boolean;
}

interface SettledBatch {
  name: string;
  app: string;
  plan: BatchPlan;
}

/**
 * Turns a command's arguments into the plan of its batch. Checks here what is cheap to check, before anything is started.
 * @throws CommandError
 */
export async function settleBatch(
  context: CommandContext,
  sources: readonly string[],
  flags: RunFlags,
  signal: AbortSignal,
): Promise<SettledBatch> {
  const { config, cwd } = context;
  const { template, dryRun } = flags;
  const app = flags.app ?? config.values.defaultApp;
  const out = flags.out === undefined ? undefined : folderUri(context, flags.out);
  const what = whatToConvert(sources, { ...flags, cwd });
  const name = flags.name ?? defaultName(sources, { ...flags, cwd, out, isHidden: isEncrypting(context) });
  checkName(name);
  const files = filesOf(context);
  const folder = batchFolder(context, name, { runs: flags.runs, out, sources: [...sources, flags.manifest] });
  if (isLocal(folder) && ['file', 'other'].includes((await files.look(folder.slice(0, -1))).kind)) {
    const problem = `${shownFolder(folder)} is a file, and the runs of batch ${name} are kept in a folder there. Move it away, or choose another --name.`;
    throw new CommandError('STATE_UNUSABLE', [problem]);
  }
  const here = asFolder(uriOfPath(cwd));
  await requireFolder(context, { typed: flags.out, flag: '--out', mayBeNew: true });
  await requireFolder(context, { typed: flags.runs, flag: '--runs', mayBeNew: true });
  if ('manifest' in what) await requireNamed(files, [what.name], { here, flag: '--manifest' });
  else await requireNamed(files, what.sources, { here });
  if (flags.filesFrom !== undefined) await requireNamed(files, [flags.filesFrom], { here, flag: '--files-from' });
  const extensions = await knownExtensions(context, app);
  const isPiped = 'manifest' in what ? what.manifest === '-' : [...what.sources, what.filesFrom].includes('-');
  const unconvertible = flags.unconvertible ?? config.values.policies.unconvertible;
  return {
    name,
    app,
    plan: {
      folder,
      what,
      cwd: here,
      unconvertible,
      ...defined({
        out,
        template,
        stdin: isPiped && dryRun !== true ? await keepPiped(context, folder, signal) : undefined,
      }),
      ...(extensions.size > 0 && { extensions: Object.fromEntries(extensions) }),
    },
  };
}

/** Refuses local names, except patterns, that do not exist or are folders where a file is required. */
async function requireNamed(
  files: FileStore,
  named: readonly string[],
  { here, flag }: { here: string; flag?: '--manifest' | '--files-from' },
): Promise<void> {
  const problems: string[] = [];
  for (const typed of named) {
    const uri = typed === '-' || (flag === undefined && /[*?[{(]/.test(typed)) ? undefined : resolveName(typed, here);
    if (uri === undefined || !isLocal(uri)) continue;
    const found = await files.look(uri.replace(/(?<=[^/])\/$/, ''));
    const shown = shownAsWritten(typed);
    if (found.kind === 'none' && !found.isUnseen) {
      problems.push(`${shown} does not exist. Check the name and the folder.`);
    }
    if (flag !== undefined && found.kind === 'folder') problems.push(`${shown} is a folder. Name a file with ${flag}.`);
  }
  throwIfAny('INPUT_UNUSABLE', problems);
}

/** Stores piped input in a file, because a worker can't read this command's standard input. */
async function keepPiped(context: CommandContext, folder: string, signal: AbortSignal): Promise<string> {
  const content = await buffer(addAbortSignal(signal, context.stdin)).catch((error: unknown) => {
    throw signal.aborted ? interrupted(error) : error;
  });
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const uri = `${folder}piped-${digest}`;
  const writing = { uri, jobKey: `piped ${randomUUID()}`, attempt: 1, onExisting: 'overwrite' as const };
  await filesOf(context).writeDestination({ ...writing, body: Readable.from([content]) });
  return uri;
}

function whatToConvert(
  sources: readonly string[],
  flags: RunFlags & Pick<CommandContext, 'cwd'>,
): BatchSources | BatchManifest {
  const { cwd, to, from: input, param: parameters, manifest, recursive, exclude, modifiedSince, filesFrom } = flags;
  const [only = '', ...others] = sources;
  const isManifest = to === undefined && others.length === 0 && /\.(csv|jsonl)$/i.test(only);
  const named = manifest ?? (isManifest ? only : undefined);
  if (named !== undefined) {
    if (manifest !== undefined && sources.length > 0) {
      throw usage('--manifest and other sources exclude each other: run them as two batches.');
    }
    const ofFiles = {
      '--recursive': recursive,
      '--modified-since': modifiedSince,
      '--files-from': filesFrom,
      '--exclude': exclude[0],
    };
    for (const [flag, value] of Object.entries(ofFiles)) {
      if (value === undefined) continue;
      throw usage(`${flag} is for files and folders; the rows of a manifest are taken as they are.`);
    }
    const [defaultTo, anotherTo] = to ?? [];
    if (anotherTo !== undefined) {
      throw usage('a row of a manifest has one format: name one with --to, and write a row for each of the others.');
    }
    const folder = asFolder(uriOfPath(cwd));
    const uri = resolveName(named, folder) ?? named;
    const isStdin = named === '-';
    return {
      manifest: isStdin ? '-' : uri,
      name: shownAsWritten(named),
      folder: isStdin ? folder : folderOf(uri),
      ...defined({ to: defaultTo, input, parameters }),
    };
  }
  if (sources.length === 0 && filesFrom === undefined) {
    throw usage('nothing was named to convert: name files, folders or a manifest.');
  }
  if (to === undefined) throw usage('--to is missing: name the target format, for example --to pdf.');
  return {
    sources,
    to,
    exclude,
    ...defined({ input, parameters, recursive, filesFrom, modifiedSince: modifiedSince?.getTime() }),
  };
}

/** More would not fit into a batch's name. */
const maxNamedFormats = 3;

/**
 * A readable name, the same for the same command in the same folder: `letters-pdf-3f9a1c`. Names of batches are not encrypted, so with
 * `isHidden` it is `batch-3f9a1c0e82d7`.
 */
export function defaultName(
  sources: readonly string[],
  {
    cwd,
    to = [],
    manifest,
    filesFrom,
    out,
    isHidden,
  }: Pick<RunFlags, 'to' | 'manifest' | 'filesFrom'> & { cwd: string; out: string | undefined; isHidden: boolean },
): string {
  const [first = manifest ?? filesFrom ?? 'files'] = sources;
  const place = out === undefined ? '' : shownPath(out).replace(/\/$/, '');
  const identity = JSON.stringify([cwd, [...sources].sort(), to.join(), manifest ?? '', filesFrom ?? '', place]);
  const digest = createHash('sha256').update(identity).digest('hex');
  if (isHidden) return `batch-${digest.slice(0, 12)}`;
  const stem = path.basename(path.resolve(cwd, shownAsWritten(first))).replace(/[^\p{L}\p{N}]+/gu, '-');
  const readable = Array.from(stem).slice(0, 40).join('');
  const formats = to.length > maxNamedFormats ? [`${to.length}-formats`] : to;
  return [readable.replace(/^-+|-+$/g, '') || 'files', ...formats, digest.slice(0, 6)].join('-');
}

export function checkName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,99}$/u.test(name) && !/[. ]$/.test(name)) return;
  throw usage(
    `${JSON.stringify(name)} can't be the name of a batch: it takes letters, digits, ".", "_", "-" and spaces, at most 100, and begins with a letter or digit.`,
  );
}

async function knownExtensions(context: CommandContext, app: string): Promise<Map<string, string>> {
  const extensions = new Map<string, string>();
  // The batch itself asks any other service.
  if (!isEmbedded(context, app)) return extensions;
  const lookup = embeddedFormats();
  for (const { format } of (await lookup.targets()) ?? []) {
    const extension = (await lookup.target(format))?.extension;
    if (extension !== undefined && extension !== extensionFromName(format)) extensions.set(format, extension);
  }
  return extensions;
}

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [`${problem} See: fileconv batch run --help`]);
}
