import { randomFillSync } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { openConversionApi, type ConversionApi } from '../src/http/client';
import { createLocalFiles } from '../src/storage/local-files';
import { app } from './support/app';
import { round } from './support/figures';
import { measure, measureWithTemporal, type Setting, type TemporalSetting } from './support/measurement';
import { transfersOverS3 } from './support/s3-transfers';
import { transferByJob } from './support/transfer-job';
import { startTransferService } from './support/transfer-service';

/**
 * A file up and another down through the client and the file store, against a plain undici pipe between the same two
 * processes; with `--store s3` through the store of `s3:` URIs, against the SDK's own streams. Both sides of a comparison
 * read the file from disk, and both downloads over HTTP are synced to it.
 */
type Way = 'ours' | 'plain';
type Direction = 'upload' | 'download';

const mebibyte = 1024 * 1024;
const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '1024' },
    rounds: { type: 'string', default: '4' },
    store: { type: 'string', default: 'file' },
  },
});
const warmUpBytes = 16 * mebibyte;
const sizeBytes = Number(options.mib) * mebibyte;

interface Paths {
  readonly sourcePath: string;
  readonly resultPath: string;
}

interface Place extends Paths {
  readonly baseUrl: string;
  readonly api: ConversionApi;
  readonly agent: Agent;
}

const store = createLocalFiles();

const transfersOverHttp: Run<Place> = {
  async 'upload ours'({ api, sourcePath }) {
    await api.uploadFile({ file: await store.openSource(pathToFileURL(sourcePath).href) });
  },

  async 'upload plain'({ agent, baseUrl, sourcePath }) {
    const { size } = await stat(sourcePath);
    const answer = await request(`${baseUrl}/raw`, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-length': String(size) },
      body: createReadStream(sourcePath),
    });
    await answer.body.dump();
  },

  async 'download ours'({ api, resultPath }) {
    const ticket = await api.downloadUrl({ connector: 'any' });
    const { body } = await api.download({ ticket });
    await store.writeDestination({
      uri: pathToFileURL(resultPath).href,
      jobKey: 'bench',
      attempt: 1,
      body,
      ...(ticket.size !== undefined && { expectedSize: ticket.size }),
      onExisting: 'overwrite',
    });
  },

  async 'download plain'({ agent, baseUrl, resultPath }) {
    const answer = await request(`${baseUrl}/raw`, { dispatcher: agent });
    await pipeline(answer.body, createWriteStream(resultPath));
    const written = await open(resultPath, 'r+');
    await written.sync();
    await written.close();
  },
};

async function pathsIn(folder: string): Promise<Paths> {
  const paths = { sourcePath: path.join(folder, 'source.bin'), resultPath: path.join(folder, 'result.bin') };
  await writeRandomBytes(paths.sourcePath, warmUpBytes);
  return paths;
}

async function measureS3({ folder, owns }: Setting) {
  const paths = await pathsIn(folder);
  const { transfers, stop } = await transfersOverS3(paths);
  owns({ stop });
  const { upload, download, rssGrowthMiB } = await compareAll(transfers, paths);
  return rounded({ ...figuresOf(upload, download), rssGrowthMiB });
}

async function measureHttp(setting: TemporalSetting) {
  const { folder, owns } = setting;
  const paths = await pathsIn(folder);
  const storePath = path.join(folder, 'stored.bin');
  const { baseUrl } = owns(await startTransferService({ storePath, servedPath: paths.sourcePath }));
  const api = openConversionApi({ ...app, baseUrl });
  const agent = new Agent();
  owns({ stop: () => Promise.all([api.close(), agent.close()]) });
  const { upload, download, rssGrowthMiB } = await compareAll(transfersOverHttp, { ...paths, baseUrl, api, agent });
  const smallSourcePath = path.join(folder, 'small.bin');
  await writeRandomBytes(smallSourcePath, mebibyte);
  const job = await transferByJob(setting, { ...paths, baseUrl, smallSourcePath });
  const jobSpeed = (seconds: number) => sizeBytes / mebibyte / seconds;
  console.log(
    `conversionJob: up ${jobSpeed(job.uploadSeconds).toFixed(0)}, down ${jobSpeed(job.downloadSeconds).toFixed(0)} MiB/s; ` +
      `resident memory of the worker grew by ${job.workerGrowthMiB.toFixed(1)} MiB at most`,
  );
  return rounded({
    ...figuresOf(upload, download),
    rssGrowthMiB,
    workerRssGrowthMiB: job.workerGrowthMiB,
    jobUploadRatio: jobSpeed(job.uploadSeconds) / upload.plain,
    jobDownloadRatio: jobSpeed(job.downloadSeconds) / download.plain,
  });
}

type Run<Where> = Record<`${Direction} ${Way}`, (place: Where) => Promise<void>>;

/** As in a worker that has run a while: what the first transfer of any size loads and compiles is no growth. */
async function compareAll<Where extends Paths>(transfers: Run<Where>, place: Where) {
  for (const transfer of Object.values<(place: Where) => Promise<void>>(transfers)) await transfer(place);
  await writeRandomBytes(place.sourcePath, sizeBytes);
  const memory = watchMemory();
  const upload = await compare('upload', transfers, place);
  const download = await compare('download', transfers, place);
  const rssGrowthMiB = memory.growthMiB();
  console.log(`\nresident memory of the client process grew by ${rssGrowthMiB.toFixed(1)} MiB at most`);
  return { upload, download, rssGrowthMiB };
}

interface Compared {
  readonly ours: number;
  readonly plain: number;
  readonly ratio: number;
}

function figuresOf(upload: Compared, download: Compared): Record<string, number> {
  return {
    ratio: Math.min(upload.ratio, download.ratio),
    uploadRatio: upload.ratio,
    downloadRatio: download.ratio,
    uploadMiBPerSecond: upload.ours,
    plainUploadMiBPerSecond: upload.plain,
    downloadMiBPerSecond: download.ours,
    plainDownloadMiBPerSecond: download.plain,
    mib: sizeBytes / mebibyte,
  };
}

function rounded(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value, 3)]));
}

/** Alternates the two ways, A B B A, so that neither always finds the disk and the other process as the other left them. */
async function compare<Where extends Paths>(
  direction: Direction,
  transfers: Run<Where>,
  place: Where,
): Promise<Compared> {
  const seconds: Record<Way, number> = { ours: 0, plain: 0 };
  const rounds = Number(options.rounds);
  for (let round = 0; round < rounds; round += 1) {
    for (const way of round % 2 === 0 ? (['ours', 'plain'] as const) : (['plain', 'ours'] as const)) {
      // A new file each time: freeing a gigabyte of the last one is no part of a transfer.
      await rm(place.resultPath, { force: true });
      const startedAt = process.hrtime.bigint();
      const cpuBefore = process.cpuUsage();
      await transfers[`${direction} ${way}`](place);
      const took = Number(process.hrtime.bigint() - startedAt) / 1e9;
      seconds[way] += took;
      const cpu = process.cpuUsage(cpuBefore);
      const speedText = (sizeBytes / mebibyte / took).toFixed(0).padStart(6);
      const cpuText = ((cpu.user + cpu.system) / 1e6).toFixed(2);
      console.log(`${direction.padEnd(9)}${way.padEnd(6)}${speedText} MiB/s, ${cpuText} s of CPU in the client`);
    }
  }
  const speed = (way: Way): number => (sizeBytes / mebibyte / seconds[way]) * rounds;
  const ratio = seconds.plain / seconds.ours;
  console.log(`${direction}: ratio ${ratio.toFixed(2)}`);
  return { ours: speed('ours'), plain: speed('plain'), ratio };
}

/** The highest resident memory since now, over what it is now. */
function watchMemory(): { growthMiB(): number } {
  const before = process.memoryUsage.rss();
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 10);
  return {
    growthMiB() {
      clearInterval(timer);
      return (highest - before) / mebibyte;
    },
  };
}

async function writeRandomBytes(filePath: string, totalBytes: number): Promise<void> {
  const block = Buffer.allocUnsafeSlow(8 * mebibyte);
  const file = await open(filePath, 'w');
  for (let left = totalBytes; left > 0; left -= block.length) {
    randomFillSync(block);
    await file.write(block, 0, Math.min(block.length, left));
  }
  await file.sync();
  await file.close();
}

void (options.store === 's3' ? measure(measureS3) : measureWithTemporal(measureHttp));
