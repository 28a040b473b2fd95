import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { types } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import Database from 'libsql';
import {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
  type RunningTemporalServer,
} from '../../packages/cli/src/dev-server';
import { startCodecServer } from '../../packages/cli/src/keys/codec-server';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { createEncryptedDataConverter } from '../../src/encryption/data-converter';
import { EncryptionCodec, parseEncryptionKeys } from '../../src/encryption/encryption-codec';
import { writePayloads } from '../../src/encryption/payload-json';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { newNamespace } from '../support/namespace';
import { answerRunning, stubAppId, stubToken } from '../support/stub-service';
import { fillStand, type Stand } from './stand';

/** Encryption as seen by the server: its database file after jobs of every kind have run, failed, parked, or are about to be retried. */

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [oldKey, nextKey] = [newKey('old'), newKey('next')];
const dataConverter = createEncryptedDataConverter(oldKey);
const marks = { plain: 'plainmark', hidden: 'hiddenmark', unlisted: 'unlistedmark' } as const;

let folder: string;
let server: RunningTemporalServer;
let stands: Record<keyof typeof marks, Stand>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-database-'));
  const cliPath = await obtainTemporalCli({ env: process.env, cacheDir: defaultCacheDir(process.env, os.homedir()) });
  const dbFilename = path.join(folder, 'temporal.db');
  server = await startTemporalServer({ cliPath, env: process.env, dbFilename, uiPort: false });
  const { address } = server;
  const connection = await Connection.connect({ address });
  const namespace = await newNamespace(new Client({ connection }));
  await connection.close();
  const [plain, hidden, unlisted] = await Promise.all([
    fillStand(marks.plain, { address, namespace: 'default' }),
    fillStand(marks.hidden, { address, namespace: 'default', dataConverter }),
    fillStand(marks.unlisted, { address, namespace, dataConverter }),
  ]);
  stands = { plain, hidden, unlisted };
});

afterAll(async () => {
  await Promise.all(Object.values(stands).map(({ rig }) => rig.close()));
  await server.stop();
});

/** Where a text occurs: `table.column` of every table, and the files themselves, whose free pages contain deleted data. */
async function placesOf(text: string): Promise<string[]> {
  const places = new Set<string>();
  for (const name of await readdir(folder)) {
    if (!name.startsWith('temporal.db')) continue;
    if (holds(await readFile(path.join(folder, name)), text)) places.add('file');
  }
  const database = new Database(path.join(folder, 'temporal.db'), { readonly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[];
    for (const { name } of tables) {
      for (const row of database.prepare(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[]) {
        for (const [column, value] of Object.entries(row)) {
          if (holds(bytesOf(value), text)) places.add(`${name}.${column}`);
        }
      }
    }
  } finally {
    database.close();
  }
  return [...places].sort();
}

function bytesOf(value: unknown): Buffer {
  if (types.isAnyArrayBuffer(value)) return Buffer.from(value);
  return Buffer.from(typeof value === 'string' ? value : '');
}

/** Searches for the plain text and for its base64 form at each of the three offsets. */
function holds(bytes: Buffer, text: string): boolean {
  const inBase64 = [0, 1, 2].map((offset) => {
    const encoded = Buffer.from(' '.repeat(offset) + text).toString('base64');
    return encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + text.length) * 4) / 3) - 1);
  });
  return [text, ...inBase64].some((form) => bytes.includes(form));
}

/** Every payload of a history. */
async function payloadsOf({ rig, ids }: Stand, kind: keyof Stand['ids']): Promise<Payload[]> {
  const found: Payload[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || types.isUint8Array(value)) return;
    if ('metadata' in value && 'data' in value) found.push(value as Payload);
    else Object.values(value).forEach(collect);
  };
  collect((await rig.temporal.workflow.getHandle(ids[kind]).fetchHistory()).events);
  return found;
}

/** Undefined for a payload that is not encrypted. */
function keyOf({ metadata }: Payload): string | undefined {
  const id = metadata?.['encryption-key-id'];
  return id && Buffer.from(id).toString();
}

describe("the server's database", () => {
  it('contains no name or path of a file if encryption is on, neither in a table nor in a free page', async () => {
    for (const stand of ['hidden', 'unlisted'] as const) {
      const mark = marks[stand];
      const names = ['name', 'folder', 'result', 'incoming', 'outgoing'].map((what) => mark + what);
      for (const text of [...names, stands[stand].rig.folder]) expect([text, await placesOf(text)]).toEqual([text, []]);
    }
  });

  it('contains no format either, except in the search attributes', async () => {
    expect(await placesOf(marks.unlisted)).toEqual([]);
    expect(await placesOf(`${marks.hidden}out`)).toContain('executions_visibility.search_attributes');
  });

  it('would show them to this search: without encryption they are in histories, states and lists', async () => {
    const names = ['name', 'folder', 'result', 'incoming', 'outgoing'].map((what) => marks.plain + what);
    for (const text of [...names, stands.plain.rig.folder])
      expect([text, await placesOf(text)]).not.toEqual([text, []]);
    expect(await placesOf(`${marks.plain}name`)).toEqual(
      expect.arrayContaining(['executions.data', 'executions.workflow_id', 'file', 'history_node.data']),
    );
    expect(await placesOf(`${marks.plain}out`)).toContain('executions_visibility.memo');
  });
});

it('the codec server decrypts for the UI: source, destination, formats, summary and the reason of a failure', async () => {
  const codec = new EncryptionCodec(parseEncryptionKeys(oldKey));
  const server = await startCodecServer({ codec, uiOrigins: () => [] });
  const decode = async (payloads: Payload[]) => {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(writePayloads(payloads)) };
    const answer = (await (await fetch(`${server.url}/decode`, request)).json()) as { payloads: { data: string }[] };
    return answer.payloads.map(({ data }) => Buffer.from(data, 'base64').toString()).join('\n');
  };
  try {
    const refused = await payloadsOf(stands.hidden, 'refused');
    expect(refused.flatMap((payload) => keyOf(payload) ?? []).length).toBeGreaterThan(5);
    const shown = await decode(refused);
    const name = `${marks.hidden}name-refused.${marks.hidden}in`;
    expect(shown).toContain(`${marks.hidden}folder/${name}"`);
    expect(shown).toContain(`${marks.hidden}folder/${marks.hidden}result-refused.out"`);
    expect(shown).toContain(`"${name} → ${marks.hidden}out"`);
    expect(shown).toMatch(new RegExp(`"message":"${name} → .*NOT_VALID_EXTENSION`, 'i'));
    expect(await decode(await payloadsOf(stands.hidden, 'cancelled'))).toContain('Cancelled while converting');
  } finally {
    await server.close();
  }
});

it('after a rotation of keys, jobs that began with the old key continue and end with the new one', async () => {
  const { rig, ids } = stands.hidden;
  const dataConverter = createEncryptedDataConverter(`${nextKey}\n${oldKey}`);
  const { connection: ofRig, options } = rig.temporal;
  const temporal = new Client({ connection: ofRig, namespace: options.namespace, dataConverter });
  rig.stub.on('convert/file', (seen, response) => answerRunning(response, seen.connector));
  await rig.stopWorker();
  const plugin = new FileConversionPlugin({
    apps: { stub: { baseUrl: rig.stub.url, appId: stubAppId, token: stubToken } },
  });
  const connection = await NativeConnection.connect({ address: server.address });
  const worker = await createConversionWorker({ connection, plugin, taskQueue: rig.taskQueue, dataConverter });
  await worker.runUntil(async () => {
    await signalAppReady(temporal, { app: 'stub' });
    const job = new FileConversionClient({ client: temporal }).get(ids.parked);
    expect(await job.result()).toMatchObject({ status: 'succeeded' });
  });
  await connection.close();
  const keys = (await payloadsOf(stands.hidden, 'parked')).flatMap((payload) => keyOf(payload) ?? []);
  expect([keys[0], keys.at(-1)]).toEqual(['old', 'next']);
});
