import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { BatchDesk } from '../support/batch-desk';
import { rigOfEachTest } from '../support/conversion-worker';
import { presentation } from '../protection/made-files';

const rig = rigOfEachTest({ slots: 20 });
const samples = path.join(__dirname, '..', 'protection', 'samples');

it('of 440 files the 40 that ask for a password fail without a request, and the 400 others are converted', async () => {
  const desk = new BatchDesk(rig);
  const content = (name: string) => readFile(path.join(samples, name));
  // Of eight kinds, five each.
  for (const kind of ['doc', 'docx', 'ods', 'odt', 'pdf', 'ppt', 'xls', 'xlsx']) {
    for (let number = 2; number <= 6; number += 1) {
      const file =
        kind === 'ppt'
          ? presentation('secret')
          : await content(kind === 'pdf' ? `locked-r${number}.pdf` : `locked.${kind}`);
      await desk.put(`locked-${number}-${kind}.${kind}`, file);
    }
  }
  const open = (await readdir(samples)).filter((name) => !name.startsWith('locked'));
  for (let number = 0; number < 400; number += 1) {
    const name = open[number % (open.length + 2)];
    if (name === undefined) await desk.put(`open-${number}.md`);
    else await desk.put(`open-${number}-${name}`, await content(name));
  }
  const { result } = await desk.run();
  expect(result).toMatchObject({ items: 440, succeeded: 400, failed: 40, failures: { SOURCE_PROTECTED: 40 } });
  const uploaded = rig.stub.requests.filter((seen) => seen.path === 'upload/file');
  const names = uploaded.map(({ body }) => /filename="([^"]*)"/.exec(body.toString('latin1'))?.[1] ?? '');
  expect([names.length, names.filter((name) => !name.startsWith('open-'))]).toEqual([400, []]);
});
