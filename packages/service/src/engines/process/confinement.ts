import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { findProgram } from '../programs';

/** A sandbox for conversions and for the programs that they run. */
export interface Confinement {
  readonly name: 'bubblewrap' | 'unshare' | 'none';
  /** Completes "conversions ...". */
  readonly says: string;
  /** Wraps a command, which can then write to `folder` only; if sealed, it sees the folder as `seenAs`. */
  readonly wrap: (command: readonly string[], folder: string, seenAs?: string) => readonly string[];
  /** The command sees its folder under another name, and only its own processes, as a child of the first of them. */
  readonly isSealed: boolean;
}

let found: readonly [Confinement, ...Confinement[]] | undefined;

/** The sandboxes that work here, the strongest first, and `none` last. They are tested once. */
export function confinements(): readonly [Confinement, ...Confinement[]] {
  return (found ??= findConfinements());
}

function findConfinements(): readonly [Confinement, ...Confinement[]] {
  const [strongest, ...others] = [inBubblewrap(), withoutNetwork()].filter((each) => each !== undefined);
  return strongest ? [strongest, ...others, none] : [none];
}

const advice = 'apt-get install bubblewrap, where unprivileged user namespaces are allowed, shuts them in';

const none: Confinement = {
  name: 'none',
  says: `could reach the network and read the files of this user; ${advice}`,
  wrap: (command) => command,
  isSealed: false,
};

function inBubblewrap(): Confinement | undefined {
  const program = findProgram({ debian: 'bubblewrap', commands: ['bwrap'] });
  if (program === undefined) return undefined;
  return ifItWorks({
    name: 'bubblewrap',
    says: 'reach no network, and no files but their own (bubblewrap)',
    wrap: (command, folder, seenAs = folder) => [program, ...roomFor(folder, seenAs), '--', ...command],
    isSealed: true,
  });
}

function withoutNetwork(): Confinement | undefined {
  const program = findProgram({ debian: 'util-linux', commands: ['unshare'] });
  if (program === undefined) return undefined;
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user'];
  return ifItWorks({
    name: 'unshare',
    says: `reach no network (unshare), but could read the files of this user; ${advice}`,
    wrap: (command) => [program, '--net', ...asUser, '--', ...command],
    isSealed: false,
  });
}

function ifItWorks(confinement: Confinement): Confinement | undefined {
  const [program = '', ...parameters] = confinement.wrap(['/usr/bin/env'], tmpdir());
  const { status } = spawnSync(program, parameters, { stdio: 'ignore', timeout: 5_000 });
  return status === 0 ? confinement : undefined;
}

/** Arguments for bubblewrap: programs, fonts and the code of engines to read, one folder to write, and nothing else. */
function roomFor(folder: string, seenAs: string): string[] {
  const fonts = ['.fonts', '.local/share/fonts'].map((name) => readOnly(path.join(homedir(), name)));
  const readable = [...systemFolders(), ...codeOfEngines(), ...fonts];
  return [
    ...['--unshare-all', '--die-with-parent', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
    ...readable.flat(),
    ...['--bind', folder, seenAs, '--chdir', seenAs],
  ];
}

type Mount = readonly [option: string, source: string, target: string];

function readOnly(file: string): Mount {
  return ['--ro-bind-try', file, file];
}

function systemFolders(): Mount[] {
  const roots = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].filter((file) => existsSync(file));
  const settings = ['alternatives', 'chromium', 'chromium.d', 'fonts', 'ld.so.cache', 'libreoffice', 'localtime'];
  return [
    ...['/usr', ...settings.map((name) => `/etc/${name}`)].map(readOnly),
    ...['/var/cache/fontconfig', '/var/lib/libreoffice', '/sys/devices/system/cpu'].map(readOnly),
    ...roots.map((file): Mount =>
      lstatSync(file).isSymbolicLink() ? ['--symlink', readlinkSync(file), file] : readOnly(file),
    ),
  ];
}

/** Node itself, this package and its dependencies; no folder in which a person keeps anything else. */
function codeOfEngines(): Mount[] {
  const plugin = path.dirname(require.resolve('temporal-file-conversion/package.json'));
  const packages = [path.resolve(__dirname, '../../..'), plugin];
  const own = packages.flatMap((folder) => [path.join(folder, 'dist'), path.join(folder, 'package.json')]);
  const modules = packages.flatMap(foldersAbove).map((folder) => path.join(folder, 'node_modules'));
  return [...new Set([process.execPath, ...own, ...modules])].filter((file) => existsSync(file)).map(readOnly);
}

function foldersAbove(folder: string): string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)];
}
