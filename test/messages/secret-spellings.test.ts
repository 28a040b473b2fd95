import { SecretSpellings } from '../../src/messages/secret-spellings';

const hide = (text: string, ...secrets: string[]) => new SecretSpellings(secrets).hide(text, '***');

describe('a secret', () => {
  it.each([
    ['as it is', 'a secret/1=2, b', 'a ***, b'],
    ['twice', 'secret/1=2secret/1=2', '******'],
    [
      'with escapes of several kinds, some escaped again',
      'x secret%252f1&amp;#x3d;2 secret\\\\u002f1=2 y',
      'x *** *** y',
    ],
    ['in the other case', 'SECRET/1=2', '***'],
    ['after what looks like an escape with its first characters', String.raw`\secret/1=2`, String.raw`\***`],
    ['beside other characters', 'ü€😀secret\\/1=2😀', 'ü€😀***😀'],
  ])('is masked %s, and nothing else is', (_how, text, masked) => expect(hide(text, 'secret/1=2')).toBe(masked));

  it('is masked even if it contains what looks like an escape', () =>
    expect(hide('a%41b%2f-c a%2541b%252f-c', 'a%41b%2f-c')).toBe('*** ***'));

  it('with non-ASCII letters is masked percent-encoded and escaped for JSON', () =>
    expect(hide(String.raw`schl%C3%BCssel schl\u00fcssel schlüssel`, 'schlüssel')).toBe('*** *** ***'));

  it('with characters that have HTML entities is masked in that form too', () =>
    expect(hide('a&amp;b&quot;c&lt;d a&b"c<d', 'a&b"c<d')).toBe('*** ***'));

  it('that contains another one is masked once', () =>
    expect(hide('abcdef-ghijkl abcdef', 'abcdef', 'abcdef-ghijkl', 'ghijkl')).toBe('*** ***'));

  it('of five characters is too short to be masked', () => expect(hide('abcde', 'abcde')).toBe('abcde'));
});

it('a long text of incomplete escapes does not take long', () => {
  const text = ['\\', '%', '&#0', '&#x', '%25', '\\u', '&amp;'].map((each) => each.repeat(10_000)).join('');
  const startedAt = performance.now();
  hide(text, 'a%secret&of\\many#characters'.repeat(40));
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});
