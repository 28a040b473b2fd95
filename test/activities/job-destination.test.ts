import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { planDestination } from '../../src/activities/job-destination';
import { outputName } from '../../src/job/types';
import { createLocalFiles } from '../../src/storage/local-files';
import { Stores } from '../../src/storage/stores';
import { makeFolder, sha256, uriOf } from '../storage/folder';

it.each([
  ['report.md', 'pdf', 'report.pdf'],
  ['archive.tar.gz', 'pdf', 'archive.tar.pdf'],
  ['report', 'docx', 'report.docx'],
  ['notes.docx', 'txt-markdown', 'notes.txt'],
  ['.profile', 'pdf', '.profile.pdf'],
])('names the result of %s in %s %s', (source, output, name) => expect(outputName(source, output)).toBe(name));

it('reads the result that is to be replaced only if its stamp has changed', async () => {
  const file = path.join(await makeFolder(), 'a.pdf');
  await writeFile(file, 'of a run');
  const files = createLocalFiles();
  let reads = 0;
  const counting: typeof files.read = (...asked) => {
    reads += 1;
    return files.read(...asked);
  };
  const stores = new Stores({ file: { ...files, read: counting } });
  const planWith = (stamp: string) =>
    planDestination(
      stores,
      {
        ...{ destination: uriOf(file), sourceName: 'a.md', output: 'pdf', onExisting: 'fail' },
        replaces: { bytes: 8, sha256: sha256('of a run'), stamp },
      },
      { step: 'upload', app: 'embedded', attempt: 1, requests: 0 },
    );
  const { stamp } = (await files.look(uriOf(file))) as { stamp: string };
  expect(await planWith(stamp)).toMatchObject({ onExisting: 'overwrite', replacedStamp: stamp });
  expect(reads).toBe(0);
  expect(await planWith('another')).toMatchObject({ onExisting: 'overwrite', replacedStamp: stamp });
  expect(reads).toBe(1);
  await writeFile(file, 'a person');
  await expect(planWith(stamp)).rejects.toThrow('exists');
});
