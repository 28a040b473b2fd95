import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { CommandContext } from '../src/command-context';
import type { Output } from '../src/output/output';
import { writeStackHolder } from '../src/stack/stack-record';
import { createStallReader, type Stall, StallNews } from '../src/waiting/stall';

afterEach(() => jest.useRealTimers());

it('does not advise to start Temporal again while its stack runs, because that start would be refused', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'fileconv-test-'));
  const context = { config: { values: { state: { dir } } } } as unknown as CommandContext;
  const client = { withDeadline: () => Promise.reject(new Error('no answer')) } as unknown as Client;
  const reader = createStallReader(context, { client, address: '127.0.0.1:1', isLocal: true });
  const up = { next: { command: 'fileconv up' } };
  await expect(reader.batch('b')).resolves.toMatchObject({ stall: up });
  await writeStackHolder(dir, { pid: process.pid, startedBy: 'up', since: new Date().toISOString() });
  const doctor = { next: { command: 'fileconv doctor' } };
  await expect(reader.batch('b')).resolves.toMatchObject({ stall: { reason: 'temporal', ...doctor } });
});

const ordinary: Stall = { reason: 'conversion', waitsFor: 'the service to finish the conversion' };
const failing: Stall = {
  reason: 'conversion',
  waitsFor: 'the next attempt (writing its results)',
  because: 'Cannot write parts/000001.jsonl: the file system is read-only.',
  until: Date.UTC(2026, 10, 29, 15),
};

/** The messages of two minutes; each look, every few seconds, sees the next of the stalls. */
async function tellAll(stalls: readonly Stall[], { isLive }: { isLive: boolean }): Promise<string[]> {
  jest.useFakeTimers();
  const told: string[] = [];
  const output = {
    isLive,
    warn: (text: string) => told.push(`warning: ${text}`),
    say: (text: string) => told.push(text),
  } as unknown as Output;
  let looks = 0;
  const explain = () => {
    const stall = stalls[Math.min(looks, stalls.length - 1)];
    looks += 1;
    return Promise.resolve(stall && { who: 'Batch b', stall });
  };
  const news = new StallNews({ output, explain });
  await jest.advanceTimersByTimeAsync(120_000);
  news.close();
  return told;
}

it.each([true, false])(
  'reports a step that keeps failing exactly once, even after an ordinary wait (on a terminal: %s)',
  async (isLive) => {
    const told = await tellAll([ordinary, ordinary, failing], { isLive });
    const because = 'Cannot write parts/000001.jsonl: the file system is read-only.';
    const warnings = told.filter((text) => text.startsWith('warning: '));
    expect(warnings).toEqual([expect.stringContaining(`(writing its results). ${because} It tries again at `)]);
  },
);

it('reports an ordinary wait once where no terminal shows it, and not as a warning', async () => {
  const next: Stall = { reason: 'conversion', waitsFor: 'the attempt under way (downloading)', because: 'Not yet.' };
  expect(await tellAll([ordinary, next], { isLive: true })).toEqual([]);
  expect(await tellAll([ordinary, next], { isLive: false })).toEqual([
    'Batch b is waiting for the service to finish the conversion.',
  ]);
});
