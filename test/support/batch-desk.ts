import { randomUUID } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { planBatch } from '../../src/batch/plan/plan-batch';
import type { PlannedBatch } from '../../src/batch/plan/planned-batch';
import { replanFailed } from '../../src/batch/plan/replan-failed';
import { runFiles } from '../../src/batch/run-files';
import { listRuns } from '../../src/batch/run-folders';
import type { BatchHandle } from '../../src/client/batch-handle';
import type { BatchRequest } from '../../src/client/batch-request';
import { jobIdOf } from '../../src/shared/job-id';
import type { BatchItemResult, ConversionBatchResult } from '../../src/shared/batch';
import type { OnUnknownOutcome } from '../../src/shared/job';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies, type ConversionRig } from './conversion-worker';
import { chargeProblems, conversionsOf } from './invariant';

const files = createLocalFiles();

function folderUri(...segments: string[]): string {
  return pathToFileURL(`${path.join(...segments)}/`).href;
}

/** One batch as a person works with it: the same folder planned, run and tried again. */
export class BatchDesk {
  readonly name = `desk-${randomUUID()}`;
  private readonly folder: string;

  constructor(
    private readonly rig: ConversionRig,
    private readonly onUnknownOutcome: OnUnknownOutcome = 'resubmit',
    private readonly request: Partial<BatchRequest> = {},
  ) {
    this.folder = path.join(rig.folder, this.name);
  }

  async put(name: string, text = `# ${name}\n`): Promise<string> {
    const file = path.join(this.folder, 'in', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  output(name: string): string {
    return path.join(this.folder, 'out', name);
  }

  /** The id of the job of a result. */
  jobId(name: string): string {
    return jobIdOf({ source: { uri: '' }, destination: pathToFileURL(this.output(name)).href });
  }

  /** `batch run` */
  async run(options: Wish = {}): Promise<Ran> {
    return this.end(await this.start(options));
  }

  /** `batch retry` */
  async retry(options: Wish = {}): Promise<Ran> {
    const { batchFolder } = this;
    return this.end(await this.begin(await replanFailed({ files, batchFolder, ...this.rules(options) }), options));
  }

  async start(options: Wish = {}): Promise<Begun> {
    const { folder, batchFolder } = this;
    const planned = await planBatch({
      files,
      what: { sources: ['in'], recursive: true, to: 'pdf' },
      batchFolder,
      cwd: folderUri(folder),
      out: folderUri(folder, 'out'),
      ...this.rules(options),
    });
    return this.begin(planned, options);
  }

  private rules({ resubmit, again }: Wish) {
    return { onUnknownOutcome: resubmit ? ('resubmit' as const) : this.onUnknownOutcome, again };
  }

  async end({ planned, handle }: Begun): Promise<Ran> {
    const result = await handle?.result();
    return { planned, ...(result && { result }), rows: await this.rows() };
  }

  /** How the rows of the latest run ended, by the name of their results. */
  async rows(): Promise<Record<string, BatchItemResult>> {
    const [latest] = await listRuns(files, this.batchFolder);
    if (!latest) return {};
    const lines = async (name: string) =>
      (await readFile(new URL(name, latest.folder), 'utf8').catch(() => '')).split('\n').filter(Boolean);
    const names = new Map<number, string>();
    for (const line of await lines(runFiles.manifest)) {
      const { item, destination } = JSON.parse(line) as { item: number; destination: string };
      names.set(item, decodeURIComponent(path.basename(destination)));
    }
    const results = (await lines(runFiles.results)).map((line) => JSON.parse(line) as BatchItemResult);
    return Object.fromEntries(results.map((result) => [names.get(result.item) ?? '', result]));
  }

  /** What the ledger of the service, rows, reports and histories tell differently. */
  async problems(): Promise<string[]> {
    const runs = (await listRuns(files, this.batchFolder)).map(({ folder }) => fileURLToPath(folder)).reverse();
    return chargeProblems(conversionsOf(this.rig.stub), runs, this.rig.temporal);
  }

  private get batchFolder(): string {
    return folderUri(this.folder, 'batch');
  }

  private async begin(planned: PlannedBatch, { resubmit, again }: Wish): Promise<Begun> {
    if (planned.problems.count > 0) throw new Error(JSON.stringify(planned.problems));
    if (!planned.run) return { planned };
    const { name, onUnknownOutcome, request } = this;
    const handle = await this.rig.client.startBatch({
      name,
      folder: planned.run.folder,
      items: planned.rows,
      ...request,
      policies: { ...quickPolicies, onUnknownOutcome, maxResubmissions: 1, ...request.policies },
      ...(resubmit && { resubmit }),
      ...(again && { again }),
    });
    return { planned, handle };
  }
}

interface Wish {
  resubmit?: true;
  again?: true;
}

interface Begun {
  planned: PlannedBatch;
  /** Absent: there was nothing to do. */
  handle?: BatchHandle;
}

interface Ran {
  planned: PlannedBatch;
  result?: ConversionBatchResult;
  rows: Record<string, BatchItemResult>;
}
