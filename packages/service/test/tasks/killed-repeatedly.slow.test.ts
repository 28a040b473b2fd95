import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { z } from 'zod';
import { killServices, type ServiceProcess, spawnService } from '../service-process';
import { createApp, createDataDir, type TestApp, TestClient } from '../support';

/**
 * kill -9 again and again while two apps convert: nothing accepted is lost, nobody is charged wrongly, no file reaches the wrong
 * app. Small here; FILECONV_TEST_CONVERSIONS=200 FILECONV_TEST_KILLS=20 is the long form.
 */
const conversions = Number(process.env['FILECONV_TEST_CONVERSIONS'] ?? 24);
const kills = Number(process.env['FILECONV_TEST_KILLS'] ?? 3);
const lanes = 8;
const initialVcredits = 100_000;
const prices = { png: 3, webp: 2 };

const apps = [createApp('first'), createApp('second')];

interface Accepted {
  id: string;
  client: TestClient;
  /** Every conversion has a size of its own, and is so known by its output. */
  width: number;
  output: keyof typeof prices;
  broken: boolean;
}

let dataDir: string;
let service: ServiceProcess | undefined;
let port = 0;

beforeAll(async () => {
  dataDir = await createDataDir();
  const tables = apps.map(
    ({ app }) => `[apps.${app.name}]
app_id = "${app.appId}"
token_sha256 = "${String(app.tokenSha256)}"
vcredits = ${initialVcredits}
prices = { "svg to png" = ${prices.png}, "*" = ${prices.webp} }`,
  );
  await writeFile(path.join(dataDir, 'accounts.toml'), tables.join('\n'));
});

afterAll(async () => {
  killServices();
  await rm(dataDir, { recursive: true, force: true });
});

async function spawn(): Promise<void> {
  service = await spawnService({ dataDir, apps: [], port, conversionConcurrency: 2 });
  port = Number(new URL(service.url).port);
}

/** Asks until there is an answer; while the service is down there is none. */
async function persist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries > 600) throw error;
      await sleep(50);
    }
  }
}

const clientOf = (testApp: TestApp) => new TestClient(`http://127.0.0.1:${port}`, testApp);
const pick = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('Nothing to pick from.');
  return item;
};

async function submit(index: number): Promise<Accepted> {
  const client = clientOf(pick(apps, index));
  const output = pick(['png', 'webp'] as const, index >> 1);
  const broken = index % 7 === 3;
  const width = 200 + index;
  const circle = `<circle r="${width}" fill="#${(index * 4321).toString(16).padStart(6, '0').slice(0, 6)}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="1200">${circle}</svg>`;
  const data = broken ? svg.slice(0, -30) : svg;
  const upload = await persist(() => client.post('upload/file', {}, { name: `${width}.svg`, data }));
  const accepted = await persist(() =>
    client.post('convert/file', {
      connector: upload.output.connector,
      mode: 'async',
      include: ['entity'],
      parameters: { output },
    }),
  );
  expect(accepted.body.entity?.status).toBe('running');
  return { id: accepted.body.entity?.id ?? '', client, width, output, broken };
}

const rowSchema = z.array(
  z.object({
    id: z.string(),
    app: z.string(),
    status: z.string(),
    error_code: z.string().nullable(),
    vcredits: z.number().nullable(),
    attempts: z.number(),
  }),
);

it(
  `survives ${kills} times kill -9 during ${conversions} conversions of two apps`,
  async () => {
    await spawn();
    const accepted: Accepted[] = [];
    let next = 0;
    const lane = async () => {
      while (next < conversions) {
        const index = next;
        next += 1;
        accepted.push(await submit(index));
        // Spread over the whole time in which the service is killed.
        while (accepted.length > (conversions * (done + 1)) / kills && done < kills) await sleep(20);
      }
    };
    let done = 0;
    const killer = async () => {
      for (; done < kills; done += 1) {
        // Conversions that were accepted just now are on their way.
        while (accepted.length < (conversions * (done + 0.5)) / kills) await sleep(5);
        await sleep(Math.random() * 200);
        await service?.kill();
        await spawn();
      }
    };
    await Promise.all([killer(), ...Array.from({ length: lanes }, lane)]);
    expect(accepted).toHaveLength(conversions);

    for (const { id, client, width, output, broken } of accepted) {
      const { entity, result } = await client.waitForTask(id);
      if (broken) expect([result.error.code, entity['vcredits']]).toEqual(['FAILED_CONVERT', 0]);
      else expect([result.error, entity['vcredits']]).toEqual([{}, prices[output]]);
      const other = clientOf(pick(apps, client.app.name === 'first' ? 1 : 0));
      expect((await other.post('task/response', { connector: id })).error.code).toBe('NO_CONNECTOR_DEPENDENT_TASK');
      expect((await other.post('download/url', { connector: id })).error.code).toBe('NO_CONNECTOR_DEPENDENT_TASK');
      if (broken) continue;
      const { bytes, name } = await client.download(id);
      expect(name).toBe(`${width}.${output}`);
      expect(widthOf(bytes, output)).toBe(width);
    }
    await service?.kill();

    const db = new Database(path.join(dataDir, 'service.db'));
    const tasks = rowSchema.parse(
      db
        .prepare(`SELECT id, app, status, error_code, vcredits, attempts FROM tasks WHERE endpoint = 'v1/convert/file'`)
        .all(),
    );
    expect(tasks.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(tasks.map(({ id }) => id)).toEqual(expect.arrayContaining(accepted.map(({ id }) => id)));
    for (const { app } of apps) {
      const successful = tasks.filter((task) => task.app === app.appId && task.error_code === null);
      const spent = successful.reduce((sum, { vcredits }) => sum + (vcredits ?? Number.NaN), 0);
      expect(spent).toBeGreaterThan(0);
      expect(db.prepare('SELECT vcredits, reserved FROM balances WHERE app = ?').get(app.appId)).toMatchObject({
        vcredits: initialVcredits - spent,
        reserved: 0,
      });
    }
    db.close();
    // Otherwise the service was only ever killed between conversions, and nothing was shown.
    expect(tasks.some(({ attempts }) => attempts > 1)).toBe(true);
  },
  60_000 + kills * 5_000 + conversions * 500,
);

function widthOf(bytes: Buffer, output: keyof typeof prices): number {
  if (output === 'png') return bytes.readUInt32BE(16);
  // VP8 (lossy): the frame header holds 14 bits of width.
  expect(bytes.subarray(8, 16).toString('latin1')).toMatch(/^WEBPVP8[ LX]$/);
  if (bytes[15] === 0x20) return bytes.readUInt16LE(26) & 0x3fff;
  if (bytes[15] === 0x4c) return (bytes.readUInt16LE(21) & 0x3fff) + 1;
  return bytes.readUIntLE(24, 3) + 1;
}
