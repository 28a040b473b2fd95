import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { readAppToken } from '../../src/config/app-token';

let folder: string;

beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'token-test-'))));

const inVariable = { name: 'main', token: { from: 'environment', variable: 'MAIN_TOKEN' } } as const;

async function inFile(content: string, mode: number) {
  const file = path.join(folder, 'a token');
  await writeFile(file, content, { mode });
  return { name: 'main', token: { from: 'file', file } } as const;
}

describe('readAppToken', () => {
  it('reads the variable and trims it', async () =>
    expect(await readAppToken(inVariable, { MAIN_TOKEN: ' hush\n' })).toBe('hush'));

  it('reads the file without a warning if only its owner can read it', async () => {
    const warnings: string[] = [];
    expect(await readAppToken(await inFile('hush\n', 0o600), {}, (message) => warnings.push(message))).toBe('hush');
    expect(warnings).toEqual([]);
  });

  it.each([0o644, 0o640, 0o604])('warns when others can read the file (mode %o)', async (mode) => {
    const warnings: string[] = [];
    const app = await inFile('hush', mode);
    await readAppToken(app, {}, (message) => warnings.push(message));
    expect(warnings).toEqual([
      `The token of app "main": others can read the file ${app.token.file}; run: chmod 600 '${app.token.file}'`,
    ]);
  });

  const isRoot = process.getuid?.() === 0;
  (isRoot ? it : it.skip)('takes a mounted secret: of another user, and for a group of this one', async () => {
    const warnings: string[] = [];
    for (const [mode, warned] of [
      [0o440, 0],
      [0o444, 1],
      [0o460, 2],
    ] as const) {
      const app = await inFile('hush', 0o600);
      await chown(app.token.file, 12_345, 0);
      await chmod(app.token.file, mode);
      await readAppToken(app, {}, (message) => warnings.push(message));
      expect(warnings).toHaveLength(warned);
    }
  });

  it('names the variable that is missing or empty, and what to do', async () => {
    await expect(readAppToken(inVariable, {})).rejects.toThrow(
      'The token of app "main": the variable MAIN_TOKEN is not set; export it where this runs',
    );
    await expect(readAppToken(inVariable, { MAIN_TOKEN: ' ' })).rejects.toThrow(
      'The token of app "main": the variable MAIN_TOKEN is empty; put the token there',
    );
  });

  it('names the file that is missing or empty, and what to do', async () => {
    const file = path.join(folder, 'none');
    await expect(readAppToken({ name: 'main', token: { from: 'file', file } }, {})).rejects.toThrow(
      `The token of app "main": the file ${file} cannot be read: there is no such file; create it with the token inside, readable by you only`,
    );
    await expect(readAppToken(await inFile('\n', 0o600), {})).rejects.toThrow('is empty; put the token there');
  });

  it.each(['hush4711 hush4711', 'hush4711\nhush4711', 'hüsh4711'])(
    'refuses a token that cannot be a header value, without repeating it',
    async (token) => {
      const error = await readAppToken(inVariable, { MAIN_TOKEN: token }).catch((each: unknown) => each);
      expect(String(error)).toContain('holds more than one word of ASCII');
      expect(inspect(error)).not.toContain('sh4711');
    },
  );
});
