import { readdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { openScratchFile } from '../../src/storage/scratch-file';
import { makeFolder } from './folder';

it('can be read repeatedly, and has no name that a kill could leave behind', async () => {
  const folder = await makeFolder();
  const file = await openScratchFile(folder);
  try {
    expect(await readdir(folder)).toEqual([]);
    await file.writeFile('rows');
    for (let time = 0; time < 2; time += 1) {
      expect(await text(file.createReadStream({ start: 0, autoClose: false }))).toBe('rows');
    }
  } finally {
    await file.close();
  }
});
