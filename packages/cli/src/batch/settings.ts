import { createHash } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PlanBatchOptions } from 'temporal-file-conversion/internal/batch/plan/plan-batch';
import type { ConversionMode, OnExisting, OnUnknownOutcome } from 'temporal-file-conversion/internal/shared/job';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { embeddedFormats, extensionFromName, nameOf } from '../formats/lookup';
import { isEncrypting } from '../keys/encryption-settings';
import { isEmbedded } from '../service/app-profiles';

/** Options of `batch run`, as they are typed. */
export interface RunFlags {
  to?: string;
  from?: string;
  out?: string;
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
  onUnknownOutcome?: OnUnknownOutcome;
  resubmit?: boolean;
  mode?: ConversionMode;
  app?: string;
  dryRun?: boolean;
}

/** What a `batch run` is about, once its arguments make sense. */
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
  const { config, cwd } = context;
  const app = flags.app ?? config.values.defaultApp;
  const out = flags.out === undefined ? undefined : path.resolve(cwd, flags.out);
  const what = whatToConvert(sources, { ...flags, cwd });
  const name = flags.name ?? defaultName(sources, { ...flags, cwd, out, isHidden: isEncrypting(context) });
  checkName(name);
  const { template } = flags;
  // Any other service is asked for each pair of formats once the files are known.
  const extensions = isEmbedded(context, app) ? await knownExtensions() : new Map<string, string>();
  return {
    name,
    app,
    plan: {
      what,
      batchFolder: batchFolder(context, name),
      cwd,
      ...(out !== undefined && { out }),
      ...(template !== undefined && { template }),
      extensionOf: (output) => extensions.get(output) ?? extensionFromName(output),
      stdin: process.stdin,
    },
  };
}

/** Holds the runs of a batch: manifests, results, reports. */
export function batchFolder({ config }: CommandContext, name: string): string {
  return path.join(config.values.state.dir, 'batches', name);
}

function whatToConvert(
  sources: readonly string[],
  { cwd, to, from, manifest, recursive, exclude, modifiedSince, filesFrom }: RunFlags & { cwd: string },
): PlanBatchOptions['what'] {
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
    const isStdin = named === '-';
    return {
      manifest: isStdin ? process.stdin : path.resolve(cwd, named),
      name: named,
      folder: isStdin ? cwd : path.dirname(path.resolve(cwd, named)),
      ...(to !== undefined && { to }),
      ...(from !== undefined && { input: from }),
    };
  }
  if (sources.length === 0 && filesFrom === undefined) {
    throw usage('nothing was named to convert: name files, folders or a manifest.');
  }
  if (to === undefined) throw usage('--to is missing: name the target format, for example --to pdf.');
  return {
    sources,
    to,
    ...(from !== undefined && { input: from }),
    ...(recursive === true && { recursive }),
    exclude,
    ...(modifiedSince && { modifiedSince: modifiedSince.getTime() }),
    ...(filesFrom !== undefined && { filesFrom }),
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
    to,
    manifest,
    filesFrom,
    out,
    isHidden,
  }: Pick<RunFlags, 'to' | 'manifest' | 'filesFrom'> & { cwd: string; out: string | undefined; isHidden: boolean },
): string {
  const [first = manifest ?? filesFrom ?? 'files'] = sources;
  const identity = JSON.stringify([cwd, [...sources].sort(), to ?? '', manifest ?? '', filesFrom ?? '', out ?? '']);
  const digest = createHash('sha256').update(identity).digest('hex');
  if (isHidden) return `batch-${digest.slice(0, 12)}`;
  const stem = path.basename(path.resolve(cwd, first)).replace(/[^\p{L}\p{N}]+/gu, '-');
  const readable =
    Array.from(stem)
      .slice(0, 40)
      .join('')
      .replace(/^-+|-+$/g, '') || 'files';
  return [readable, to, digest.slice(0, 6)].filter((part) => part !== undefined).join('-');
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
  const names = ((await lookup.targets()) ?? []).map(nameOf);
  return new Map(
    await Promise.all(
      names.map(async (name): Promise<[string, string]> => {
        return [name, (await lookup.target(name))?.extension ?? extensionFromName(name)];
      }),
    ),
  );
}

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [`${problem} See: fileconv batch --help`]);
}

/** A run's folder as the workflow takes it. */
export function folderUri(folder: string): string {
  return `${pathToFileURL(folder).href}/`;
}
