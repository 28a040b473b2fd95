import { defaultCacheDir } from '../../src/dev-server';

it('defaultCacheDir follows the conventions of each platform', () => {
  expect(defaultCacheDir({}, '/home/me', 'linux')).toBe('/home/me/.cache/temporal-file-conversion');
  expect(defaultCacheDir({}, '/Users/me', 'darwin')).toBe('/Users/me/Library/Caches/temporal-file-conversion');
  expect(defaultCacheDir({ XDG_CACHE_HOME: '/x' }, '/home/me', 'linux')).toBe('/x/temporal-file-conversion');
  expect(defaultCacheDir({ XDG_CACHE_HOME: 'x' }, '/home/me', 'linux')).toBe(
    '/home/me/.cache/temporal-file-conversion',
  );
});
