import { batchFolderOf } from '../../src/batch/uris';
import { spelledUri, toBatchInput } from '../../src/client/batch-request';
import { toSweepInput } from '../../src/client/sweep-schedules';
import { withoutSecrets } from '../../src/job/types';

describe('the folder of a batch', () => {
  const folderOf = (out: string | undefined, sources: string[] = []) =>
    batchFolderOf('n', { out, sources, home: 'file:///home/' });

  it('is in the store of the results, whatever characters the name of their folder contains', () => {
    expect(folderOf('s3://out/a(b)/[c]')).toBe('s3://out/a(b)/%5Bc%5D/.fileconv/batches/n/');
    expect(folderOf('s3://out/a b/')).toBe('s3://out/a%20b/.fileconv/batches/n/');
  });

  it('is otherwise below the last folder before a pattern of the sources', () => {
    expect(folderOf(undefined, ['in/*.md', 's3://in/2026/a*/b.md'])).toBe('s3://in/2026/.fileconv/batches/n/');
    expect(folderOf('out', ['s3://in/'])).toBe('file:///home/n/');
  });
});

it('rejects credentials in the URIs of a batch', () => {
  const secret = 's3://me:secret@in/a/';
  const refused = /holds a user name or a password/;
  expect(() => toBatchInput({ name: 'n', manifest: 'm.csv', out: secret }, 'app')).toThrow(refused);
  const sweep = { name: 'n', times: { everyMs: 60_000 }, from: 'in', to: 'pdf', out: 'out', batchFolder: 'runs' };
  for (const field of ['from', 'out', 'batchFolder'])
    expect(() => toSweepInput({ ...sweep, [field]: secret }, 'app')).toThrow(refused);
  expect(() => toSweepInput({ ...sweep, times: { everyMs: '1 hour' as never } }, 'app')).toThrow(
    'times: must be { everyMs }, whole seconds and at least 10000, or { cron }',
  );
});

it('accepts a container before the host of a foreign store, but rejects a password', () => {
  const azure = 'abfss://invoices@account.dfs.core.windows.net/a b.md';
  expect(spelledUri(azure)).toBe('abfss://invoices@account.dfs.core.windows.net/a%20b.md');
  expect(withoutSecrets(azure)).toBe(azure);
  expect(withoutSecrets('sftp://me:secret@host/a?b')).toBe('sftp://host/a');
  const start = (out: string) => toBatchInput({ name: 'n', manifest: 'm.csv', out }, 'app');
  expect(start('sftp://archive@host/out').plan?.out).toBe('sftp://archive@host/out/');
  for (const uri of ['sftp://me:secret@host/', 's3://me@in/', 'https://me@host/a/'])
    expect(() => start(uri)).toThrow(/holds a user name or a password/);
});

it('normalises the spelling of URIs, so that batches can compare them', () => {
  expect(spelledUri('s3://archive/dt=2026-01-01/ü b/')).toBe(spelledUri('s3://archive/dt%3D2026-01-01/%C3%BC%20b/'));
  expect(spelledUri('out/')).toBe(spelledUri(`${process.cwd()}/out/`));
});
