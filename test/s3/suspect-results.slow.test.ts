import { readdir } from 'node:fs/promises';
import { createS3Files } from '../../src/s3';
import { rigOfAllTests } from '../support/conversion-worker';
import { s3ServerOfAllTests } from '../support/s3-server';

const server = s3ServerOfAllTests();
const rig = rigOfAllTests({
  stores: { s3: () => createS3Files({ client: server.client }) },
  checkCommand: { argv: ['grep', '-qv', 'bad'] },
});

it('lie beside their destinations in an object store too, where no object ever has the name', async () => {
  const bucket = await server.newBucket();
  const convert = async (name: string) => {
    const destination = `s3://${bucket}/out/${name}.docx`;
    return rig.client.convert(await rig.request({ output: 'docx', destination, policies: { check: 'command' } }));
  };
  rig.stub.output = Buffer.from('PK good');
  expect((await convert('a')).output?.uri).toBe(`s3://${bucket}/out/a.docx`);
  rig.stub.output = Buffer.from('PK bad');
  await expect(convert('b')).rejects.toMatchObject({
    code: 'RESULT_SUSPECT',
    details: { output: { uri: `s3://${bucket}/out/b.docx.suspect`, bytes: 6 } },
  });
  expect((await readdir(`${server.folderOf(bucket)}/out`)).sort()).toEqual(['a.docx', 'b.docx.suspect']);
});
