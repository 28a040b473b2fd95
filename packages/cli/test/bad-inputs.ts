import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { permissionsHold } from './fileconv';
import type { RunningStack } from './running-stack';
import { noisyPng } from './samples';

/** One way to mistype a command, or to give it input that it cannot use. */
export interface BadInput extends Circumstances {
  line: string;
  /** The line on stderr, without `error: `. */
  says: RegExp;
  exitCode: 1 | 2 | 3;
  code: string;
}

interface Circumstances {
  /** Creates further files; every folder already has `good.md`. */
  prepare?: (folder: string) => Promise<unknown>;
  env?: (stack: RunningStack) => Record<string, string>;
  /** Unset if the mistake is found before the command looks for a stack. */
  needsStack?: true;
  skip?: string | false;
}

const all = (exitCode: 1 | 2 | 3, code: string, rows: [line: string, says: RegExp, more?: Circumstances][]) =>
  rows.map(([line, says, more]): BadInput => ({ line, says, exitCode, code, ...more }));

const inFolder = (name: string, content: string | Buffer) => ({
  prepare: (folder: string) => writeFile(path.join(folder, name), content),
});
const isLocked = (name: string, mode: number, make: (at: string) => Promise<unknown>) => ({
  skip: permissionsHold ? (false as const) : 'root reads and writes everything, and setpriv is missing',
  async prepare(folder: string) {
    await make(path.join(folder, name));
    await chmod(path.join(folder, name), mode);
  },
});
const appAt = (baseUrl: string, token: Record<string, string>) => ({
  ...{ FILECONV_APPS_MINE_BASE_URL: baseUrl, FILECONV_APPS_MINE_APP_ID: 'some-app', ...token },
});
const someToken = { FILECONV_APPS_MINE_TOKEN: 'some-token' };
const png = noisyPng(64);

export const badInputs = [
  ...all(2, 'INPUT_UNUSABLE', [
    ['convert nope.md --to pdf', /^nope\.md does not exist\./],
    ['convert empty.md --to pdf', /^empty\.md is empty\./, inFolder('empty.md', '')],
    [
      'convert secret.md --to pdf',
      /^secret\.md cannot be read: permission denied\. /,
      isLocked('secret.md', 0o000, (at) => writeFile(at, '# Secret')),
    ],
    [
      'batch run good.md --to html --out out --runs good.md',
      /^good\.md is not a folder\. Name a folder with --runs\.$/,
    ],
    ['batch run good.md --to html --out good.md/deep', /^good\.md\/deep is not a folder\. Name a folder with --out\.$/],
    ['batch run --manifest . --out out', /^\. is a folder\. Name a file with --manifest\.$/],
    ['batch run --files-from . --to html --out out', /^\. is a folder\. Name a file with --files-from\.$/],
  ]),
  ...all(2, 'USAGE', [
    [
      'batch run good.md --to pdf --out https://example.com/a?secret --name web',
      /^https:\/\/example\.com\/a can't be used as a folder: the files of a web server .* Name another\.$/,
    ],
    ['convert good.md --to ../x', /'\.\.\/x' is invalid\. A format is a name such as pdf/],
    ['convert --to pdf', /missing required argument 'file'\. See: fileconv convert --help$/],
    [
      'convert good.md --to pdf --on-existing replace',
      /'replace' is invalid\. Allowed choices are fail, skip, overwrite, rename\. See: fileconv convert --help$/,
    ],
    ['convrt good.md', /^unknown command 'convrt' \(Did you mean convert\?\) See: fileconv --help$/],
    ['up now', /^too many arguments for 'up'/],
  ]),
  ...all(2, 'FORMAT_UNUSABLE', [
    ['convert s3://bucket --to pdf --out .', /there is none\. All that it holds: s3:\/\/bucket\/$/],
    ['convert good.md --to pfd', /^The service knows no format pfd\. Did you mean pdf\? See: fileconv formats$/],
    [
      'convert data.xyz --to pdf',
      /^data\.xyz can't be converted: The input format xyz is not known\. See: fileconv formats$/,
      inFolder('data.xyz', 'x'),
    ],
    ['convert good.md --from nonsense --to pdf', /The input format nonsense is not known\. See: fileconv formats$/],
    ['convert good.md --from docx --to pdf', /The file extension does not match the input format docx\./],
    [
      'convert README --to pdf',
      /^README can't be converted: the service takes .* extension .* Rename it, for example to README\.md\.$/,
      inFolder('README', '# Read me'),
    ],
    [
      'convert good.md --to png',
      /the service does not convert md to png\. See what it converts md to: fileconv formats md$/,
    ],
  ]),
  ...all(1, 'FAILED_CONVERT', [
    [
      'convert half.png --to webp',
      /^half\.png → webp: .*FAILED_CONVERT: .*damaged or cut off/,
      { ...inFolder('half.png', png.subarray(0, png.length / 2)), needsStack: true },
    ],
  ]),
  ...all(2, 'DESTINATION_UNUSABLE', [
    [
      'convert good.md --to html --out locked',
      /^locked\/good\.html, the result of good\.md, can't be written: this user may not write there\. Choose another place with --out\.$/,
      isLocked('locked', 0o555, (at) => mkdir(at)),
    ],
    [
      'convert good.md --to html --out out',
      /^out\/good\.html, the result of good\.md, can't be written: .*is not a folder\. Choose another place with --out\.$/,
      inFolder('out', 'not a folder'),
    ],
    [
      'convert good.md --to html --on-existing overwrite',
      /^good\.html, the result of good\.md, .*it is a folder\. Choose another place with --out\.$/,
      { prepare: (folder) => mkdir(path.join(folder, 'good.html')) },
    ],
    [
      'convert good.md --to html',
      /^good\.html already exists\. .*--on-existing skip, overwrite or rename/,
      inFolder('good.html', 'precious'),
    ],
    [
      'convert good.md --to md --on-existing overwrite',
      /^good\.md would be replaced by its own result\. Choose another folder with --out\.$/,
    ],
    [
      'convert good.md --to md --out linked --on-existing overwrite',
      /^good\.md would be replaced by its own result\./,
      { prepare: (folder) => symlink('.', path.join(folder, 'linked')) },
    ],
  ]),
  ...all(1, 'ACCOUNT_REFUSED', [
    [
      'convert good.md --to html --app mine',
      /INVALID_CREDENTIAL .*Check the account, the App ID and the token of app mine \(`fileconv config show`\)\.$/,
      {
        env: ({ record }) => appAt(record.service.url, { FILECONV_APPS_MINE_TOKEN: 'not-the-token' }),
        needsStack: true,
      },
    ],
  ]),
  ...all(2, 'CONFIG_INVALID', [
    [
      'convert good.md --to html --app mine',
      /^The token of app "mine": the variable NOT_THERE is not set; export it where this runs$/,
      { env: () => appAt('http://127.0.0.1:1', { FILECONV_APPS_MINE_TOKEN_ENV: 'NOT_THERE' }) },
    ],
    [
      'convert good.md --to html',
      /fileconv\.toml: the configuration file cannot be read: there is no such file/,
      { prepare: (folder) => symlink('nowhere.toml', path.join(folder, 'fileconv.toml')) },
    ],
  ]),
  ...all(2, 'UNKNOWN_APP', [
    ['doctor --app mine', /^There is no app profile called "mine"; there are: embedded\. See: fileconv config show$/],
    [
      'convert good.md --to html --app mine',
      /^There is no app profile called "mine"; there are: embedded\. See: fileconv config show$/,
    ],
  ]),
  ...all(1, 'SERVICE_UNREACHABLE', [
    [
      'convert good.md --to html --app mine',
      /^The conversion service of app mine can't be reached at http:\/\/127\.0\.0\.1:1\. /,
      { env: () => appAt('http://127.0.0.1:1', someToken) },
    ],
  ]),
  // The address belongs to another kind of server.
  ...all(1, 'SERVICE_UNUSABLE', [
    [
      'convert good.md --to html --app mine',
      /Check base_url of app mine/,
      { env: ({ record }) => appAt(record.temporal.uiUrl, someToken), needsStack: true },
    ],
  ]),
  ...all(3, 'STATE_UNUSABLE', [
    [
      'batch run good.md --to html --name taken',
      /\.fileconv\/batches\/taken is a file, and the runs of batch taken are kept in a folder there\. Move it away, or choose another --name\.$/,
      {
        async prepare(folder) {
          await mkdir(path.join(folder, '.fileconv/batches'), { recursive: true });
          await writeFile(path.join(folder, '.fileconv/batches/taken'), '');
        },
        env: () => ({ FILECONV_STATE_DIR: '.fileconv' }),
      },
    ],
  ]),
];
