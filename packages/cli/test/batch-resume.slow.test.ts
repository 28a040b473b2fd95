import { convertedPictures, countConvertRequests, folderWithPictures, writePicture } from './batch-pictures';
import { fileconv, linesOf, startProcess } from './fileconv';

it('batch run typed again after its stack ended converts the rest and the three changed sources, and pays for nothing twice', async () => {
  const total = 30;
  const args = ['batch', 'run', 'in', '--to', 'gif', '--out', 'out', '--name', 'pictures', '--window', '8'];
  const cwd = await folderWithPictures(total);
  const command = startProcess(args, { cwd });
  await convertedPictures(cwd, { total, wanted: 5 });
  const ended = await command.end();
  const converted = await convertedPictures(cwd, { total, wanted: 5 });
  expect(ended).toMatchObject({ code: 130, stdout: '' });
  expect(linesOf(ended.stderr).at(-1)).toBe(
    'Detached from batch pictures. It makes no progress until a stack runs here. Come back: run the same command again, or `fileconv up` and then: fileconv batch watch pictures',
  );
  expect(converted.length).toBeLessThan(total);
  for (const n of converted.slice(0, 3)) await writePicture(cwd, n, 1);

  const again = await fileconv(args, { cwd });
  // Progress lines may stand between the two, if a job lost its callback and waits for the next poll.
  const lines = linesOf(again.stderr);
  expect(lines[1]).toBe(
    'Batch pictures is already running, with the options it was started with: watching it. Whatever is left or has changed is converted afterwards, with the options of this command.',
  );
  expect(lines.at(-1)).toBe('Batch pictures: 3 files to convert, 27 files done before.');
  expect(again.code).toBe(0);
  expect(linesOf(again.stdout)[0]).toBe('All 30 files are done. 3 converted; 27 skipped: their results already exist.');
  expect(await countConvertRequests({ cwd })).toBe(total + 3);
});
