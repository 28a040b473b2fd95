import { readdirSync } from 'node:fs';
import path from 'node:path';
import { startConversionService } from '../../src';
import { createApp, createDataDir, startTestService, tinyPng } from '../support';

/** Options and limits of the service. */

it('converts more tasks than there are processes, in order', async () => {
  const { client, logged, stop } = await startTestService({ conversionConcurrency: 1 });
  const connector = await client.upload('dot.png', tinyPng);
  const ids: string[] = [];
  for (let count = 0; count < 12; count += 1) ids.push(await client.startConversion(connector, 'webp'));
  for (const id of ids) await client.waitForTask(id);
  expect(logged.map((line) => line.split(' ')[1])).toEqual(ids);
  await stop();
});

describe('startConversionService', () => {
  const { app } = createApp();

  it('listens on other addresses than loopback only with allowRemote', async () => {
    const dataDir = await createDataDir();
    await expect(startConversionService({ dataDir, apps: [app], host: '0.0.0.0' })).rejects.toThrow(/allowRemote/);
    const service = await startConversionService({ dataDir, apps: [app], host: '0.0.0.0', allowRemote: true });
    await service.close();
  });

  it.each([
    [{ apps: [] }, /at least one app/],
    [{ conversionTimeoutMs: 0 }, /conversionTimeoutMs must be a whole number of at least 1, not 0/],
    [{ maxUploadBytes: Number.NaN }, /maxUploadBytes/],
    [{ maxConversionMemoryBytes: 1024 }, /maxConversionMemoryBytes .* at least 134217728, not 1024/],
    [{ bodyTimeoutMs: 2 ** 31 }, /bodyTimeoutMs .* at most 2147483647/],
    [{ maxFormFields: 1.5 }, /maxFormFields must be a whole number/],
    [{ apps: [{ ...app, tokenSha256: 'abc' }] }, /tokenSha256 of app "test"/],
  ])('refuses %j', async (options, message) => {
    const dataDir = await createDataDir();
    await expect(startConversionService({ dataDir, apps: [app], ...options })).rejects.toThrow(message);
  });

  it('names the address if the port is taken, and releases the folder and the engine that it warmed', async () => {
    const { service, stop } = await startTestService();
    const dataDir = await createDataDir();
    const options = { dataDir, apps: [app], expects: { input: 'markdown', output: 'html' } };
    await expect(startConversionService({ ...options, port: service.port })).rejects.toThrow(/EADDRINUSE/);
    // Each process has a folder there until it has ended.
    const inUse = readdirSync(path.join(dataDir, 'conversions')).filter((name) => name.startsWith('process-'));
    expect(inUse).toEqual([]);
    const second = await startConversionService(options);
    await second.close();
    await stop();
  });
});
