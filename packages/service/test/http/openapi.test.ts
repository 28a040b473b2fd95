import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { endpoints } from '../../../../src/contract/endpoints';
import { errorCodes } from '../../../../src/contract/error-codes';
import { describeService, operations, refusalWith, taskResponseOf } from '../../src/http/openapi';
import { serviceOfAllTests, tinyPng } from '../support';

/** `/openapi.json`: a valid description, without a token, that the service's answers keep to. */

const { client } = serviceOfAllTests();

const descriptionSchema = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
});

async function readDescription() {
  const response = await fetch(`${client.url}/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  const text = await response.text();
  return { text, description: descriptionSchema.parse(JSON.parse(text)) };
}

it('is what the build made of the schemas as they are now', async () => {
  expect((await readDescription()).text).toBe(JSON.stringify(describeService()));
});

it('is valid OpenAPI 3.1', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-openapi-'));
  try {
    const file = path.join(folder, 'openapi.json');
    await writeFile(file, (await readDescription()).text);
    // The validator is an ES module, which jest cannot load.
    const validator = require.resolve('@seriousme/openapi-schema-validator/bin/validate-api-cli.js');
    const { stdout } = await promisify(execFile)(process.execPath, [validator, file]);
    expect(JSON.parse(stdout)).toMatchObject({ valid: true });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('describes every endpoint of the document, with POST alone, and itself', async () => {
  const { description } = await readDescription();
  const expected = Object.values(endpoints).map((endpoint) => [`/${endpoint}`, ['post']]);
  const paths = Object.entries(description.paths).map(([each, item]) => [each, Object.keys(item)]);
  expect(paths).toEqual(expect.arrayContaining([...expected, ['/openapi.json', ['get']]]));
  expect(paths).toHaveLength(expected.length + 1);
});

it('names every code of the error table, under its HTTP status', async () => {
  const { text } = await readDescription();
  for (const code of Object.keys(errorCodes)) expect(text).toContain(`"${code}"`);
});

it('carries the rate-limit headers, and takes no other method', async () => {
  const response = await fetch(`${client.url}/openapi.json`);
  expect(Number(response.headers.get('x-ratelimit-limit'))).toBeGreaterThan(0);
  expect((await fetch(`${client.url}/openapi.json`, { method: 'POST' })).status).toBe(404);
});

it('is kept to by the answers of every endpoint', async () => {
  const include = ['entity', 'payload', 'result'];
  const upload = await client.post('upload/file', { include }, { name: 'dot.png', data: tinyPng });
  const connector = upload.output.connector ?? '';
  const converted = await client.post('convert/file', { connector, include, parameters: { output: 'jpg' } });
  const done = converted.output.connector ?? '';
  const pair = { input: 'md', output: 'pdf' };
  const answers = {
    [endpoints.uploadFile]: upload,
    [endpoints.convertFile]: converted,
    [endpoints.taskResponse]: await client.post('task/response', { connector: done, include }),
    [endpoints.downloadUrl]: await client.post('download/url', { connector: done, include }),
    [endpoints.convertFormats]: await client.post('convert/formats', { parameters: { sublist: 'inputs' } }),
    [endpoints.convertGraph]: await client.post('convert/graph', { parameters: pair }),
    [endpoints.convertStatus]: await client.post('convert/status', { connector: done }),
    [endpoints.formatGet]: await client.post('format/get', { parameters: { format: 'pdf' } }),
  };
  for (const [endpoint, { output }] of Object.entries(operations)) {
    if (!output) continue;
    const answer = Object.entries(answers).find(([each]) => each === endpoint)?.[1];
    expect(answer?.error).toEqual({});
    taskResponseOf(output).parse(answer?.body);
  }
  const refused = await client.post('convert/file', { connector: done, include, parameters: {} });
  refusalWith(['MISSING_REQUIRED_PARAMETER']).parse(refused.body);
});
