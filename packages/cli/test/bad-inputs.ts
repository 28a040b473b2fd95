import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { permissionsHold } from './fileconv';
import type { RunningStack } from './running-stack';
import { noisyPng } from './samples';

/** One way in which a command can be typed wrong, or meet something that it can't use. */
export interface BadInput {
  title: string;
  /** Besides `good.md`, which is in every folder. */
  prepare?: (folder: string) => Promise<unknown>;
  args: string[];
  env?: (stack: RunningStack) => Record<string, string>;
  exitCode: 1 | 2 | 3;
  /** The line on stderr, without `error: `. */
  says: RegExp;
  code: string;
  /** `false`: it is found out before any stack is looked for. */
  needsStack?: boolean;
  skip?: string | false;
}

const damagedPng = (folder: string) => {
  const whole = noisyPng(64);
  return writeFile(path.join(folder, 'half.png'), whole.subarray(0, whole.length / 2));
};
const inFolder = (name: string, content: string | Buffer) => (folder: string) =>
  writeFile(path.join(folder, name), content);
const needsPermissions = permissionsHold ? false : 'root reads and writes everything, and setpriv is missing';

export const badInputs: BadInput[] = [
  {
    title: 'a missing file',
    args: ['convert', 'nope.md', '--to', 'pdf'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^nope\.md does not exist\./,
  },
  {
    title: 'results on a web server',
    args: ['batch', 'run', 'good.md', '--to', 'pdf', '--out', 'https://example.com/a?secret', '--name', 'web'],
    exitCode: 2,
    code: 'USAGE',
    needsStack: false,
    says: /^https:\/\/example\.com\/a can't be used as a folder: the files of a web server .* Name another\.$/,
  },
  {
    title: 'a bucket without a slash',
    args: ['convert', 's3://bucket', '--to', 'pdf', '--out', '.'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /there is none\. All that it holds: s3:\/\/bucket\/$/,
  },
  {
    title: 'an empty file',
    prepare: inFolder('empty.md', ''),
    args: ['convert', 'empty.md', '--to', 'pdf'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^empty\.md is empty\./,
  },
  {
    title: 'an unreadable file',
    prepare: async (folder) => {
      await inFolder('secret.md', '# Secret')(folder);
      await chmod(path.join(folder, 'secret.md'), 0o000);
    },
    args: ['convert', 'secret.md', '--to', 'pdf'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^secret\.md cannot be read: permission denied\. /,
    skip: needsPermissions,
  },
  {
    title: 'an unknown target format',
    args: ['convert', 'good.md', '--to', 'pfd'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /^The service knows no format pfd\. Did you mean pdf\? See: fileconv formats$/,
  },
  {
    title: 'a target that is no name at all',
    args: ['convert', 'good.md', '--to', '../x'],
    exitCode: 2,
    code: 'USAGE',
    says: /'\.\.\/x' is invalid\. A format is a name such as pdf/,
  },
  {
    title: 'an unknown input extension',
    prepare: inFolder('data.xyz', 'x'),
    args: ['convert', 'data.xyz', '--to', 'pdf'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /^data\.xyz can't be converted: The input format xyz is not known\. See: fileconv formats$/,
  },
  {
    title: 'an unknown input format',
    args: ['convert', 'good.md', '--from', 'nonsense', '--to', 'pdf'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /The input format nonsense is not known\. See: fileconv formats$/,
  },
  {
    title: 'an input format that is not the file’s',
    args: ['convert', 'good.md', '--from', 'docx', '--to', 'pdf'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /The file extension does not match the input format docx\./,
  },
  {
    title: 'a file without an extension',
    prepare: inFolder('README', '# Read me'),
    args: ['convert', 'README', '--to', 'pdf'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /^README can't be converted: by the extension .* Rename it, for example to README\.md\.$/,
  },
  {
    title: 'a pair that cannot convert',
    args: ['convert', 'good.md', '--to', 'png'],
    exitCode: 2,
    code: 'FORMAT_UNUSABLE',
    says: /the service does not convert md to png\. See what it converts md to: fileconv formats md$/,
  },
  {
    title: 'a PNG that is cut in half',
    prepare: damagedPng,
    args: ['convert', 'half.png', '--to', 'webp'],
    exitCode: 1,
    code: 'FAILED_CONVERT',
    says: /^half\.png → webp: .*FAILED_CONVERT: .*damaged or cut off/,
    needsStack: true,
  },
  {
    title: 'a destination folder that may not be written to',
    prepare: async (folder) => {
      await mkdir(path.join(folder, 'locked'));
      await chmod(path.join(folder, 'locked'), 0o555);
    },
    args: ['convert', 'good.md', '--to', 'html', '--out', 'locked'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^locked\/good\.html, the result of good\.md, can't be written: this user may not write there\. Choose another place with --out\.$/,
    skip: needsPermissions,
  },
  {
    title: 'a destination folder that is a file',
    prepare: inFolder('out', 'not a folder'),
    args: ['convert', 'good.md', '--to', 'html', '--out', 'out'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^out\/good\.html, the result of good\.md, can't be written: .*is not a folder\. Choose another place with --out\.$/,
  },
  {
    title: 'a result that is a folder',
    prepare: (folder) => mkdir(path.join(folder, 'good.html')),
    args: ['convert', 'good.md', '--to', 'html', '--on-existing', 'overwrite'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^good\.html, the result of good\.md, .*it is a folder\. Choose another place with --out\.$/,
  },
  {
    title: 'a result that exists',
    prepare: inFolder('good.html', 'precious'),
    args: ['convert', 'good.md', '--to', 'html'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^good\.html exists already\. .*--on-existing skip, overwrite or rename/,
  },
  {
    title: 'a result that would replace its own input',
    args: ['convert', 'good.md', '--to', 'md', '--on-existing', 'overwrite'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^good\.md would be replaced by its own result\. Choose another folder with --out\.$/,
  },
  {
    title: 'a result that would replace its own input by way of a linked folder',
    prepare: (folder) => symlink('.', path.join(folder, 'linked')),
    args: ['convert', 'good.md', '--to', 'md', '--out', 'linked', '--on-existing', 'overwrite'],
    exitCode: 2,
    code: 'DESTINATION_UNUSABLE',
    says: /^good\.md would be replaced by its own result\./,
  },
  {
    title: 'a wrong token',
    args: ['convert', 'good.md', '--to', 'html', '--app', 'mine'],
    env: ({ record }) => appAt(record.service.url, { FILECONV_APPS_MINE_TOKEN: 'not-the-token' }),
    exitCode: 1,
    code: 'ACCOUNT_REFUSED',
    says: /INVALID_CREDENTIAL .*Check the App ID and the token of app mine \(`fileconv config show`\)\.$/,
    needsStack: true,
  },
  {
    title: 'a token variable that is not set',
    args: ['convert', 'good.md', '--to', 'html', '--app', 'mine'],
    env: () => appAt('http://127.0.0.1:1', { FILECONV_APPS_MINE_TOKEN_ENV: 'NOT_THERE' }),
    exitCode: 2,
    code: 'CONFIG_INVALID',
    says: /^The token of app "mine": the variable NOT_THERE is not set; export it where this runs$/,
  },
  {
    title: 'an app profile that nobody configured',
    args: ['convert', 'good.md', '--to', 'html', '--app', 'mine'],
    exitCode: 2,
    code: 'UNKNOWN_APP',
    says: /^There is no app profile called "mine"; there are: embedded\. See: fileconv config show$/,
  },
  {
    title: 'a service that is down',
    args: ['convert', 'good.md', '--to', 'html', '--app', 'mine'],
    env: () => appAt('http://127.0.0.1:1', { FILECONV_APPS_MINE_TOKEN: 'some-token' }),
    exitCode: 1,
    code: 'SERVICE_UNREACHABLE',
    says: /^The conversion service of app mine can't be reached at http:\/\/127\.0\.0\.1:1\. /,
  },
  {
    title: 'a service that is something else',
    args: ['convert', 'good.md', '--to', 'html', '--app', 'mine'],
    env: ({ record }) => appAt(record.temporal.uiUrl, { FILECONV_APPS_MINE_TOKEN: 'some-token' }),
    exitCode: 1,
    code: 'SERVICE_UNUSABLE',
    says: /Check base_url of app mine/,
    needsStack: true,
  },
  {
    title: 'a configuration file that is a link to nowhere',
    prepare: (folder) => symlink('nowhere.toml', path.join(folder, 'fileconv.toml')),
    args: ['convert', 'good.md', '--to', 'html'],
    exitCode: 2,
    code: 'CONFIG_INVALID',
    says: /fileconv\.toml: the configuration file cannot be read: there is no such file/,
  },
  {
    title: 'a batch whose folder is a file',
    prepare: async (folder) => {
      await mkdir(path.join(folder, '.fileconv/batches'), { recursive: true });
      await inFolder('.fileconv/batches/taken', '')(folder);
    },
    args: ['batch', 'run', 'good.md', '--to', 'html', '--name', 'taken'],
    env: () => ({ FILECONV_STATE_DIR: '.fileconv' }),
    exitCode: 3,
    code: 'STATE_UNUSABLE',
    says: /\.fileconv\/batches\/taken is a file, and the runs of batch taken are kept in a folder there\. Move it away, or choose another --name\.$/,
  },
  {
    title: 'a batch whose runs should go into a file',
    args: ['batch', 'run', 'good.md', '--to', 'html', '--out', 'out', '--runs', 'good.md'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^good\.md is not a folder\. Name a folder with --runs\.$/,
  },
  {
    title: 'a batch whose results should go into a file',
    args: ['batch', 'run', 'good.md', '--to', 'html', '--out', 'good.md/deep'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^good\.md\/deep is not a folder\. Name a folder with --out\.$/,
  },
  {
    title: 'a manifest that is a folder',
    args: ['batch', 'run', '--manifest', '.', '--out', 'out'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^\. is a folder\. Name a file with --manifest\.$/,
  },
  {
    title: 'a list of files that is a folder',
    args: ['batch', 'run', '--files-from', '.', '--to', 'html', '--out', 'out'],
    exitCode: 2,
    code: 'INPUT_UNUSABLE',
    says: /^\. is a folder\. Name a file with --files-from\.$/,
  },
  {
    title: 'no file',
    args: ['convert', '--to', 'pdf'],
    exitCode: 2,
    code: 'USAGE',
    says: /missing required argument 'file'\. See: fileconv convert --help$/,
  },
  {
    title: 'an option with a value that it does not take',
    args: ['convert', 'good.md', '--to', 'pdf', '--on-existing', 'replace'],
    exitCode: 2,
    code: 'USAGE',
    says: /'replace' is invalid\. Allowed choices are fail, skip, overwrite, rename\. See: fileconv convert --help$/,
  },
  {
    title: 'an unknown command',
    args: ['convrt', 'good.md'],
    exitCode: 2,
    code: 'USAGE',
    says: /^unknown command 'convrt' \(Did you mean convert\?\) See: fileconv --help$/,
  },
  {
    title: 'more arguments than a command takes',
    args: ['up', 'now'],
    exitCode: 2,
    code: 'USAGE',
    says: /^too many arguments for 'up'/,
  },
];

function appAt(baseUrl: string, token: Record<string, string>): Record<string, string> {
  return { FILECONV_APPS_MINE_BASE_URL: baseUrl, FILECONV_APPS_MINE_APP_ID: 'some-app', ...token };
}
