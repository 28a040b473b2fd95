import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type { PlanBatchOptions } from 'temporal-file-conversion/internal/batch/plan/plan-batch';
import {
  asFolder,
  folderOf,
  isLocal,
  resolveName,
  shownAsWritten,
  shownFolder,
  uriOfPath,
} from 'temporal-file-conversion/internal/batch/uris';
import { writeFile } from 'temporal-file-conversion/internal/batch/contents';
import type { ConversionBatchInput } from 'temporal-file-conversion/internal/shared/batch';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import {
  conversionModes,
  onExistingChoices,
  onUnknownOutcomeChoices,
  unconvertibleChoices,
  type Unconvertible,
} from 'temporal-file-conversion/internal/shared/policies';
import type {
  ConversionMode,
  ConversionParameters,
  OnExisting,
  OnUnknownOutcome,
} from 'temporal-file-conversion/internal/shared/job';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { StorageError } from 'temporal-file-conversion/internal/storage/errors';
import type { FileStore } from 'temporal-file-conversion/internal/storage/file-store';
import { shownPath } from 'temporal-file-conversion/internal/storage/file-uri';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { embeddedFormats, extensionFromName } from '../formats/lookup';
import { isEncrypting } from '../keys/encryption-settings';
import { isEmbedded } from '../service/app-profiles';
import { batchFolder, filesOf, folderUri } from './batch-folder';

export interface RunFlags {
  to?: string[];
  from?: string;
  param?: ConversionParameters;
  out?: string;
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
  onExisting?: OnExisting;
  unconvertible?: Unconvertible;
  onUnknownOutcome?: OnUnknownOutcome;
  resubmit?: boolean;
  again?: boolean;
  mode?: ConversionMode;
  tag?: string[];
  app?: string;
  dryRun?: boolean;
}

interface BatchSettings {
  name: string;
  app: string;
  plan: PlanBatchOptions;
}

/** @throws CommandError when the arguments contradict each other. */
export async function settleBatch(
  context: CommandContext,
  sources: readonly string[],
  flags: RunFlags,
): Promise<BatchSettings> {
  const { config, cwd, stdin } = context;
  const app = flags.app ?? config.values.defaultApp;
  const out = flags.out === undefined ? undefined : folderUri(context, flags.out);
  const what = whatToConvert(sources, { ...flags, cwd, stdin });
  const name = flags.name ?? defaultName(sources, { ...flags, cwd, out, isHidden: isEncrypting(context) });
  checkName(name);
  const files = filesOf(context);
  const folder = batchFolder(context, name, { runs: flags.runs, out, sources: [...sources, flags.manifest] });
  if (isLocal(folder) && ['file', 'other'].includes((await files.look(folder.slice(0, -1))).kind)) {
    const problem = `${shownFolder(folder)} is a file, and the runs of batch ${name} are kept in a folder there. Move it away, or choose another --name.`;
    throw new CommandError('STATE_UNUSABLE', [problem]);
  }
  // Any other service is asked for each pair of formats once the files are known.
  const extensions = isEmbedded(context, app) ? await knownExtensions() : new Map<string, string>();
  return {
    name,
    app,
    plan: {
      files,
      what,
      batchFolder: folder,
      cwd: asFolder(uriOfPath(cwd)),
      ...defined({ out, template: flags.template }),
      extensionOf: (output) => extensions.get(output) ?? extensionFromName(output),
      stdin,
    },
  };
}

function whatToConvert(
  sources: readonly string[],
  flags: RunFlags & Pick<CommandContext, 'cwd' | 'stdin'>,
): PlanBatchOptions['what'] {
  const {
    cwd,
    stdin,
    to,
    from: input,
    param: parameters,
    manifest,
    recursive,
    exclude,
    modifiedSince,
    filesFrom,
  } = flags;
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
      manifest: isStdin ? stdin : uri,
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

/**
 * The same for the same command in the same folder, and readable: `letters-pdf-3f9a1c`. Names of batches are not encrypted; with
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
  return [readable.replace(/^-+|-+$/g, '') || 'files', ...to, digest.slice(0, 6)].join('-');
}

/** @throws CommandError when it can't be the name of a folder and the id of a workflow. */
export function checkName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,99}$/u.test(name) && !/[. ]$/.test(name)) return;
  throw usage(
    `${JSON.stringify(name)} can't be the name of a batch: it takes letters, digits, ".", "_", "-" and spaces, at most 100, and begins with a letter or digit.`,
  );
}

async function knownExtensions(): Promise<Map<string, string>> {
  const lookup = embeddedFormats();
  const extensions = new Map<string, string>();
  for (const { format } of (await lookup.targets()) ?? []) {
    extensions.set(format, (await lookup.target(format))?.extension ?? extensionFromName(format));
  }
  return extensions;
}

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [`${problem} See: fileconv batch run --help`]);
}

/** Settings of a batch's jobs: the workflow's input without what comes from the plan, and how it is listed. */
export interface JobSettings extends Omit<
  ConversionBatchInput,
  'folder' | 'items' | 'historyLimit' | 'resubmit' | 'again' | 'hidesNames'
> {
  tags?: string[];
  unconvertible?: Unconvertible;
}

const duration = z.union([z.number(), z.string()]);

const schema = z.object({
  app: z.string(),
  window: z.number().exactOptional(),
  onExisting: z.enum(onExistingChoices).exactOptional(),
  mode: z.enum(conversionModes).exactOptional(),
  unconvertible: z.enum(unconvertibleChoices).exactOptional(),
  tags: z.array(z.string()).exactOptional(),
  stopAfter: z.object({ failures: z.number().exactOptional(), percent: z.number().exactOptional() }).exactOptional(),
  // The client checks them again when the batch is started.
  policies: z
    .looseObject({
      onUnknownOutcome: z.enum(onUnknownOutcomeChoices).exactOptional(),
      maxResubmissions: z.number().exactOptional(),
      uploadDeadline: duration.exactOptional(),
    })
    .exactOptional(),
}) satisfies z.ZodType<JobSettings>;

const settingsFile = 'settings.json';

/** Kept beside the runs, for `batch retry`. */
export async function saveSettings(files: FileStore, folder: string, settings: JobSettings): Promise<void> {
  const writing = { jobKey: `settings ${randomUUID()}`, attempt: 1 };
  await writeFile(files, folder + settingsFile, [`${JSON.stringify(settings, undefined, 2)}\n`], { writing });
}

/** Undefined when no run has been started. @throws CommandError when the file is damaged, StorageError when it can't be read. */
export async function readSettings(files: FileStore, folder: string): Promise<JobSettings | undefined> {
  try {
    return schema.parse(JSON.parse(await text(files.read(folder + settingsFile))));
  } catch (error) {
    if (error instanceof StorageError && error.code === 'SOURCE_NOT_FOUND') return undefined;
    if (error instanceof StorageError) throw error;
    const problem = `${shownPath(folder + settingsFile)} can't be read: it was changed or damaged. Run the batch again with its whole command.`;
    throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
  }
}

/**
 * Which flags have no effect on a batch that already runs, and what to type instead. Undefined when all have.
 * `earlier`: what the batch under way was started with, as far as that is known.
 */
export function tellUnheeded({
  name,
  flags,
  settings,
  earlier,
}: {
  name: string;
  flags: Partial<RunFlags>;
  settings: JobSettings;
  earlier: JobSettings | undefined;
}): string | undefined {
  const choices = [
    // Whether the running batch has it is not recorded.
    ['--resubmit', flags.resubmit === true, true, undefined],
    ['--window', flags.window, settings.window, earlier?.window],
    ['--mode', flags.mode, settings.mode, earlier?.mode],
    ['--tag', flags.tag?.[0], settings.tags, earlier?.tags],
    ['--app', flags.app, settings.app, earlier?.app],
    ['--on-existing', flags.onExisting, settings.onExisting, earlier?.onExisting],
    ['--unconvertible', flags.unconvertible, settings.unconvertible, earlier?.unconvertible],
    ['--stop-after', flags.stopAfter, settings.stopAfter, earlier?.stopAfter],
    [
      '--on-unknown-outcome',
      flags.onUnknownOutcome,
      settings.policies?.onUnknownOutcome,
      earlier?.policies?.onUnknownOutcome,
    ],
  ] as const;
  const typed = choices
    .filter(([, asked, now, before]) => asked !== undefined && asked !== false && !isDeepStrictEqual(now, before))
    .map(([flag]) => flag);
  if (typed.length === 0) return undefined;
  const now =
    typed[0] === '--window' && typed.length === 1
      ? `fileconv batch window ${shellWord(name)} ${settings.window}`
      : `fileconv batch cancel ${shellWord(name)} --finish, and then this command again`;
  return `It continues as it was started: ${typed.join(', ')} ${typed.length === 1 ? 'holds' : 'hold'} only for what is left to do afterwards, while this command watches. To have that now: ${now}`;
}
