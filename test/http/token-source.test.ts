import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { createQuote } from '../../src/http/quote';
import { fixedToken, readTokenFile, RereadToken, TokenUnreadableError } from '../../src/http/token-source';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'token-source-'));
  file = path.join(folder, 'token');
});

let minutesAgo = 60;

/** Sets the modification time to some minutes ago, later than that of any earlier write. */
async function write(text: string): Promise<void> {
  await writeFile(file, text);
  const at = Date.now() / 1_000 - 60 * (minutesAgo -= 1);
  await utimes(file, at, at);
}

function inFile() {
  const told: string[] = [];
  const reads = { count: 0 };
  const source = new RereadToken({
    read: () => {
      reads.count += 1;
      return readTokenFile(file);
    },
    file,
    onChange: () => told.push('changed'),
    onUnreadable: (reason) => told.push(reason),
  });
  return { source, told, reads };
}

const textOf = async (source: RereadToken) => (await source.current()).text;

describe('a token in a file', () => {
  it('is read once, and again when the file has changed', async () => {
    await write('first-token\n');
    const { source, told, reads } = inFile();
    expect([await textOf(source), await textOf(source)]).toEqual(['first-token', 'first-token']);
    expect(reads.count).toBe(1);
    await write('other-token\n');
    expect([await textOf(source), await textOf(source)]).toEqual(['other-token', 'other-token']);
    expect([reads.count, told]).toEqual([2, ['changed']]);
  });

  it('is read again when another file replaces it, however old that file is', async () => {
    await write('first-token');
    const { source } = inFile();
    await textOf(source);
    const aside = path.join(folder, 'new');
    await writeFile(aside, 'other-token');
    await utimes(aside, 1_000, 1_000);
    await rename(aside, file);
    expect(await textOf(source)).toBe('other-token');
  });

  it.each([
    ['empty', () => write(''), 'it is empty'],
    ['gone', () => rm(file), 'there is no such file'],
    ['two words', () => write('half a-token'), 'it is not one word of ASCII'],
  ])('stays in use while the file is %s, and that is reported once', async (_state, spoil, reason) => {
    await write('first-token');
    const { source, told } = inFile();
    await textOf(source);
    await spoil();
    expect([await textOf(source), await textOf(source)]).toEqual(['first-token', 'first-token']);
    expect(told).toEqual([expect.stringContaining(reason)]);
    await write('other-token');
    expect(await textOf(source)).toBe('other-token');
  });

  it('stays in use while the new one may be half written; a request that is refused meanwhile may be retried', async () => {
    await write('first-token');
    const { source, reads } = inFile();
    const { version } = await source.current();
    expect(await source.refused(version)).toBe(false);
    await writeFile(file, 'other-');
    expect([await textOf(source), await source.refused(version)]).toEqual(['first-token', true]);
    expect(reads.count).toBe(2);
    await write('other-token');
    expect(await textOf(source)).toBe('other-token');
  });

  it('is read again after each refusal if the file has changed, also right after the last change', async () => {
    await write('first-token');
    const { source } = inFile();
    const { version } = await source.current();
    await write('wrong-token');
    expect(await source.refused(version)).toBe(true);
    await write('other-token');
    expect([await source.refused(version + 1), await textOf(source)]).toEqual([true, 'other-token']);
  });

  it('causes an error without the contents of the file if it could never be read', async () => {
    const { source } = inFile();
    await expect(source.current()).rejects.toThrow(TokenUnreadableError);
    await write('two secret-words');
    const error = await source.current().catch((each: unknown) => each);
    expect(error).toBeInstanceOf(TokenUnreadableError);
    expect(inspect(error, { depth: 10 })).not.toContain('secret-words');
    await write('first-token');
    expect(await textOf(source)).toBe('first-token');
  });
});

describe('a token from a function', () => {
  it('is requested again once, however many requests are refused together', async () => {
    let [calls, token] = [0, 'first-token'];
    const source = new RereadToken({ read: () => Promise.resolve(((calls += 1), token)) });
    const { version } = await source.current();
    const refusals = await Promise.all(Array.from({ length: 100 }, () => source.refused(version)));
    expect([calls, new Set(refusals)]).toEqual([2, new Set([false])]);
    expect([await source.refused(version), calls]).toEqual([false, 2]);

    token = 'other-token';
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await Promise.all([source.refused(version), source.refused(version)])).toEqual([true, true]);
    expect(calls).toBe(3);
    expect(await source.current()).toEqual({ text: 'other-token', version: version + 1 });
    // A late refusal of the old token says nothing about the new one.
    expect([await source.refused(version), calls]).toEqual([true, 3]);
  });

  it('stays in use when the function fails; only a failure of the first call is an error', async () => {
    let answer = (): string => 'first-token';
    const source = new RereadToken({ read: () => answer() });
    const { version } = await source.current();
    answer = () => {
      throw new Error('the vault is sealed');
    };
    expect([await source.refused(version), await textOf(source)]).toEqual([false, 'first-token']);
    await expect(new RereadToken({ read: () => answer() }).current()).rejects.toThrow(
      "the token can't be read: the vault is sealed",
    );
  });

  it('is requested once after a refusal, even if the function returns a different token on each call', async () => {
    let calls = 0;
    const source = new RereadToken({ read: () => `token-${(calls += 1)}` });
    expect(await source.refused((await source.current()).version)).toBe(true);
    const second = await source.current();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect([await source.refused(second.version), calls]).toEqual([false, 2]);
  });

  it('causes a clear error if it is not a string', async () => {
    const source = new RereadToken({ read: (() => undefined) as never });
    await expect(source.current()).rejects.toThrow("the token can't be read: it is empty");
  });

  it('times out if the function never answers, and is requested again', async () => {
    jest.useFakeTimers();
    try {
      const answers = [new Promise<string>(() => undefined), Promise.resolve('first-token')];
      const source = new RereadToken({ read: () => answers.shift() ?? '' });
      const failed = expect(source.current()).rejects.toThrow("the token can't be read: no answer within 30 s");
      await jest.advanceTimersByTimeAsync(30_000);
      await failed;
      expect(await textOf(source)).toBe('first-token');
    } finally {
      jest.useRealTimers();
    }
  });
});

it('a fixed token never changes', async () => {
  const source = fixedToken(' only-token\n');
  expect(await source.current()).toEqual({ text: 'only-token', version: 1 });
  expect(await source.refused(1)).toBe(false);
});

it('a quote of the service hides earlier tokens too', async () => {
  await write('first-token');
  const { source } = inFile();
  const quote = createQuote(source);
  await source.current();
  await write('other-token');
  await source.current();
  expect(quote('neither first-token nor other-token')).toBe('neither [token] nor [token]');
});
