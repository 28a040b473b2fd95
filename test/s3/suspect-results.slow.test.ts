import { readdir } from 'node:fs/promises';
import { createS3Files } from '../../src/s3';
import { startRig, type ConversionRig } from '../support/conversion-worker';
import { startS3Server, type S3Server } from '../support/s3-server';

let server: S3Server;
let rig: ConversionRig;
beforeAll(async () => {
  server = await startS3Server();
  const stores = { s3: createS3Files({ client: server.client }) };
  rig = await startRig({ stores, checkCommand: { argv: ['grep', '-qv', 'bad'] } });
}, 900_000);
afterAll(async () => {
  await rig.close();
  await server.stop();
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
