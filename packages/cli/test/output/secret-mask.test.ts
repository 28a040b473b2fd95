import { SecretTraces } from '../../../../test/support/secret-traces';
import { SecretMask } from '../../src/output/secret-mask';

const secret = 'Secret+"Token"/4711=do~not?tell';

describe('a secret known to the mask', () => {
  const mask = new SecretMask();
  mask.hide(secret);

  it.each([
    ['as it is, escaped for JSON', JSON.stringify({ a: secret })],
    ['in a URL', `/?t=${encodeURIComponent(secret)}`],
    ['in HTML', secret.replace(/[^a-z]/gi, (each) => `&#${each.charCodeAt(0)};`)],
    ['with escaped slashes', JSON.stringify({ a: JSON.stringify(secret).replaceAll('/', '\\/') })],
    ['in base64 of more', Buffer.from(`Bearer ${secret}`).toString('base64')],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64 for URLs', Buffer.from(secret).toString('base64url')],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
  ])('is masked %s', (_how, line) => {
    const masked = mask.apply(line);
    expect(masked).toContain('********');
    expect(masked).not.toContain('4711');
    expect(new SecretTraces(secret).find(masked)).toBeUndefined();
  });

  it('is masked so that JSON stays valid', () =>
    expect(JSON.parse(mask.apply(JSON.stringify({ a: `x ${secret} y`, b: 1 })))).toEqual({ a: 'x ******** y', b: 1 }));

  it('is masked as a whole even if a part of it is a secret too', () => {
    const both = new SecretMask();
    both.hide('abcdef');
    both.hide('abcdef-ghijkl');
    expect(both.apply('abcdef-ghijkl abcdef')).toBe('******** ********');
  });

  it('is masked word by word, and without the id in front', () => {
    const words = new SecretMask();
    words.hideWords('2026-11:abcdef ghijkl\nmnopqr');
    expect(words.apply('2026-11:abcdef abcdef ghijkl mnopqr')).toBe('******** ******** ******** ********');
  });

  it('is ignored if it is empty or as short as a word', () => {
    const none = new SecretMask();
    none.hide('');
    none.hide('in');
    expect(none.apply('a line in a log')).toBe('a line in a log');
  });
});

describe('text that looks like a secret', () => {
  const mask = new SecretMask();
  const callback = `${Buffer.from('batch/1.md').toString('base64url')}.0b7d6a0e-94a5-4d0b-8f0e-3f1f5c1c7a11.${'s'.repeat(43)}`;

  it.each([
    ['an Authorization header', 'sent Bearer abc.def-1, then', 'sent Bearer ********, then'],
    [
      'a callback URL',
      `POST https://hooks.example.com/x/${callback} 204`,
      'POST https://hooks.example.com/x/******** 204',
    ],
    ['the path of one', `"/${callback}"`, '"/********"'],
    [
      'a signed link',
      'GET https://files.example.com/a.pdf?sig=4711&x=1 403',
      'GET https://files.example.com/a.pdf?******** 403',
    ],
    ['a password in a URL', 'https://me:hush@example.com/', 'https://********@example.com/'],
  ])('is masked: %s', (_what, line, masked) => expect(mask.apply(line)).toBe(masked));

  it('does not include ids, addresses, versions and paths', () => {
    const line =
      'report.docx → pdf of https://api.example.com/v1/convert/file by 0.1.0 at 127.0.0.1:7233, task 7d7f6b1e-6f0c-4b5e-9d86-0d6a0f9f0a11';
    expect(mask.apply(line)).toBe(line);
  });
});
