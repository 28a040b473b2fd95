import { chooseTemporal, defaultCacheDir } from '../../src/temporal-server';

describe('chooseTemporal', () => {
  it('obtains and starts nothing when TEMPORAL_ADDRESS or the configuration names a server', () => {
    expect(chooseTemporal({ TEMPORAL_ADDRESS: 'h:1' })).toEqual({ kind: 'external', reason: 'TEMPORAL_ADDRESS=h:1' });
    expect(chooseTemporal({}, { address: 'h:2' })).toEqual({ kind: 'external', reason: 'temporal.address = h:2' });
    expect(chooseTemporal({}, { profile: 'prod' })).toEqual({ kind: 'external', reason: 'temporal.profile = prod' });
  });

  it('runs a server of our own when nothing is said, or only an empty variable', () => {
    expect(chooseTemporal({ TEMPORAL_ADDRESS: '' }, { address: undefined })).toEqual({ kind: 'local' });
  });
});

describe('defaultCacheDir', () => {
  it('is the user’s cache as each platform has it', () => {
    expect(defaultCacheDir({}, '/home/me', 'linux')).toBe('/home/me/.cache/temporal-file-conversion');
    expect(defaultCacheDir({}, '/Users/me', 'darwin')).toBe('/Users/me/Library/Caches/temporal-file-conversion');
    expect(defaultCacheDir({ XDG_CACHE_HOME: '/x' }, '/home/me', 'linux')).toBe('/x/temporal-file-conversion');
    expect(defaultCacheDir({ XDG_CACHE_HOME: 'x' }, '/home/me', 'linux')).toBe(
      '/home/me/.cache/temporal-file-conversion',
    );
  });
});
