import { createHash } from 'node:crypto';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../src/activities';
import type { ActivityDependencies } from '../../src/activities/activity-attempt';
import { writeFile } from '../../src/batch/contents';
import { createS3Files } from '../../src/s3';
import { shownPath } from '../../src/storage/file-uri';
import { createLocalFiles } from '../../src/storage/local-files';
import { Stores } from '../../src/storage/stores';
import { s3ServerOfAllTests } from '../support/s3-server';
import { changesUntil } from './changes-until';
import { folderUri } from './folder';

/** Steps that write files of a batch are killed before each change that they make, as by `kill -9`, and are then attempted again. */

const server = s3ServerOfAllTests();
let files: Stores;
let root: string;
beforeAll(async () => {
  files = new Stores({ file: createLocalFiles(), s3: createS3Files({ client: server.client }) });
  root = await mkdtemp(path.join(tmpdir(), 'fileconv-killed-'));
});

interface Place {
  uri: string;
  temporary: () => Promise<string[]>;
}

async function newFolder(): Promise<Place> {
  const folder = await mkdtemp(path.join(root, 'batch-'));
  const temporary = async () => (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.part'));
  return { uri: folderUri(folder), temporary };
}

async function newBucket(): Promise<Place> {
  const Bucket = await server.newBucket();
  const temporary = async () => {
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket }));
    return Uploads.map(({ Key = '' }) => Key);
  };
  return { uri: `s3://${Bucket}/`, temporary };
}

type Contents = Record<string, string>;

async function fill({ uri }: Place, contents: Contents): Promise<void> {
  const writing = { jobKey: 'before', attempt: 1 };
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(files, uri + name, [content.replaceAll('PLACE/', uri)], { writing });
  }
}

/** Normalised, so that the place and the time of writing make no difference. */
async function contentsOf({ uri: place }: Place): Promise<Contents> {
  const contents: Contents = {};
  for await (const { relative, uri } of files.walk(place)) {
    const common = (await text(files.read(uri))).replaceAll(place, 'PLACE/').replaceAll(shownPath(place), 'PLACE/');
    contents[relative] = common.replaceAll(/"stamp":"(\\.|[^"\\])*"/g, '"stamp"');
  }
  return contents;
}

const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const items = Array.from({ length: 120 }, (_, n) => ({
  item: n + 1,
  source: 'PLACE/a.md',
  output: 'pdf',
  destination: `PLACE/out/${n + 1}.pdf`,
}));
const content = { bytes: 1, sha256: createHash('sha256').update('a').digest('hex') };
const results = items.map(({ item, destination: uri }) => ({
  ...{ item, status: 'succeeded', workflowId: `job-${item}`, charge: 'yes', taskId: `task-${item}` },
  ...{ source: content, output: { uri, name: `${item}.pdf`, ...content } },
}));
/** A half-finished run without a ledger. `textLength`: the length of each of 50 parameters. */
function begunRun(textLength: number): Contents {
  const texts = (n: number) => Array.from({ length: 50 }, (_, k) => [`text_${k}`, String(n).padEnd(textLength, 'a')]);
  const spelled = (n: number) => texts(n).map((each) => each.join('='));
  const read = (n: number) => ({ parameters: Object.fromEntries(texts(n)) as unknown });
  return {
    'a.md': 'a',
    'rows.jsonl': lines(items.map(({ item, ...row }) => ({ ...row, parameters: spelled(item).join(' ') }))),
    'year/run-0001/manifest.jsonl': lines(items.map((row) => ({ ...row, ...read(row.item) }))),
    'year/run-0001/parts/000001.jsonl': lines(results.slice(0, 60)),
  };
}

const plan = { folder: 'PLACE/year/', cwd: 'PLACE/' };
const what = { manifest: 'PLACE/rows.jsonl', name: 'rows.jsonl', folder: 'PLACE/' };
const inputs = {
  'conversion.planBatch': { request: { app: 'any', plan: { ...plan, what } } },
  'conversion.endRun': endOf({ folder: 'PLACE/year/run-0001/', rest: results.slice(60) }, { succeeded: 120 }),
} as const;
type Activity = keyof typeof inputs;

function endOf(run: { folder: string; rest: unknown[] }, counts: object) {
  const state = { ...{ succeeded: 0, failed: 0, skipped: 0, cancelled: 0 }, ...counts, startedAt: 0, durationMs: 0 };
  return { batch: 'hot', parts: 1, ...run, state: { ...state, status: 'completed' } };
}

const moves = { from: 'PLACE/in/', done: 'PLACE/done/', failed: 'PLACE/failed/' };
const hot = { ...endOf({ folder: 'PLACE/runs/run-0001/', rest: [] }, { succeeded: 1, failed: 1 }), moves };

const inputAt = ({ uri }: Place, input: object): never =>
  JSON.parse(JSON.stringify(input).replaceAll('PLACE/', uri)) as never;

// Quiet, since killed attempts log errors.
const logger = new DefaultLogger('ERROR');

async function attempt(place: Place, activity: Activity, number: number, input: object = inputs[activity]) {
  const client = {
    options: { loadedDataConverter: { payloadCodecs: [] } },
    withAbortSignal: (_signal: AbortSignal, call: () => unknown) => call(),
  } as unknown as Client;
  const environment = new MockActivityEnvironment({ attempt: number, heartbeatTimeoutMs: 10_000 }, { client, logger });
  const activities = createActivities({ files } as unknown as ActivityDependencies);
  await environment.run((input: never) => activities[activity](input), inputAt(place, input));
  return contentsOf(place);
}

/** Returns whether the attempt was killed. */
async function attemptAndKill(place: Place, killAt: number, activity: Activity, input?: object): Promise<boolean> {
  const changes = await changesUntil(killAt);
  try {
    await attempt(place, activity, 1, input);
  } catch (error) {
    if (!changes.areOver()) throw error;
  } finally {
    changes.restore();
  }
  return changes.areOver();
}

/** Each test kills before every third change, starting with one of the first three. There are dozens, each in a place of its own. */
const apart = 3;
const cases = (Object.keys(inputs) as Activity[]).flatMap((activity) =>
  Array.from({ length: apart }, (_, n) => [activity, n + 1] as const),
);

const manifest = (run: number) => `year/run-000${run}/manifest.jsonl`;

describe.each([
  ['a folder', newFolder, 10],
  // So long that a bucket needs several requests.
  ['a bucket', newBucket, 1_000],
])('a batch with files in %s', (_title, newPlace, textLength) => {
  it.each(cases)(
    'has only complete files after %s was killed before change %i and every third one after it',
    async (activity, first) => {
      const [calm, begun] = [await newPlace(), begunRun(textLength)];
      await fill(calm, begun);
      const before = await contentsOf(calm);
      const after = await attempt(calm, activity, 1);
      for (let [killAt, isKilled] = [first, true]; isKilled; killAt += apart) {
        const place = await newPlace();
        await fill(place, begun);
        isKilled = await attemptAndKill(place, killAt, activity);
        const torn = await contentsOf(place);
        const odd = Object.keys(torn).filter((name) => torn[name] !== before[name] && torn[name] !== after[name]);
        const ended = await attempt(place, activity, 2);
        // Nobody knows whether a plan that was written has been reported, so the next attempt makes another run.
        const isPlanned = activity === 'conversion.planBatch' && torn[manifest(2)] !== undefined;
        const expected = isPlanned ? { ...after, [manifest(3)]: after[manifest(2)] } : after;
        expect(Object.keys(ended).sort()).toEqual(Object.keys(expected).sort());
        const differs = Object.keys(ended)
          .filter((name) => name !== 'year/ledger.jsonl' || !isPlanned)
          .filter((name) => ended[name] !== expected[name]);
        expect([killAt, odd, differs, await place.temporary()]).toEqual([killAt, [], [], []]);
      }
    },
  );
});

describe.each([
  ['a folder', newFolder],
  ['a bucket', newBucket],
])('the sources of a run that are in %s', (_title, newPlace) => {
  const failed = { item: 2, status: 'failed', charge: 'no', code: 'FAILED_CONVERT', message: 'It is damaged.' };
  const [a, bad] = ['in/a.md', 'in/deep/bad.md'].map((name) => `PLACE/${name}`);
  const ended: Contents = {
    'in/a.md': 'a',
    'in/deep/bad.md': 'a',
    'done/a.md': 'an earlier one',
    'runs/run-0001/manifest.jsonl': lines([
      { ...items[0], source: a },
      { ...items[1], source: bad },
    ]),
    'runs/run-0001/parts/000001.jsonl': lines([results[0], { ...failed, source: content }]),
  };
  const after: Contents = {
    ...{ 'done/a.md': 'an earlier one', 'done/a (1).md': 'a', 'failed/deep/bad.md': 'a' },
    'failed/deep/bad.md.reason.txt':
      'bad.md was not converted to pdf.\n\nFAILED_CONVERT: It is damaged.\n\nTo try again: fileconv batch retry hot\nName: bad.md\n',
  };
  const movable = (contents: Contents) => Object.entries(contents).filter(([name]) => !name.startsWith('runs/'));

  it('are each in one place, and none is lost, after their move was killed before any of its changes', async () => {
    for (let [killAt, isKilled] = [1, true]; isKilled; killAt += 1) {
      const place = await newPlace();
      await fill(place, ended);
      isKilled = await attemptAndKill(place, killAt, 'conversion.endRun', hot);
      const torn = await contentsOf(place);
      const ofA = movable(torn).filter(([name, text]) => text === 'a' && /\/a( \(\d+\))?\.md$/.test(name));
      // Between the copy and the removal, an object is in both places.
      expect(ofA.length === 1 || place.uri.startsWith('s3:')).toBe(true);
      expect(ofA.length).toBeGreaterThan(0);
      expect([killAt, Object.fromEntries(movable(await attempt(place, 'conversion.endRun', 1, hot)))]).toEqual([
        killAt,
        after,
      ]);
    }
  });
});
