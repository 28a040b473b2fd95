import { randomUUID } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runFiles } from '../../src/batch/run-files';
import { listRuns } from '../../src/batch/run-folders';
import type { BatchHandle } from '../../src/client/batch-handle';
import { jobIdOf } from '../../src/job/job-id';
import type { BatchPlan, ConversionBatchInput } from '../../src/batch/model/types';
import type { PlannedRows, BatchItemResult, ConversionBatchResult } from '../../src/batch/model/state';
import type { OnUnknownOutcome } from '../../src/job/types';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies, type ConversionRig } from './conversion-worker';
import { chargeProblems, conversionsOf } from './invariant';

const files = createLocalFiles();

const folderUri = (...segments: string[]): string => pathToFileURL(`${path.join(...segments)}/`).href;

/** One batch as a user works with it: the same folder is planned, run and retried. */
export class BatchDesk {
  readonly name = `desk-${randomUUID()}`;
  private readonly folder: string;

  constructor(
    private readonly rig: ConversionRig,
    private readonly onUnknownOutcome: OnUnknownOutcome = 'resubmit',
    private readonly request: Partial<ConversionBatchInput> = {},
  ) {
    this.folder = path.join(rig.folder, this.name);
  }

  async put(name: string, text: string | Buffer = `# ${name}\n`): Promise<string> {
    const file = path.join(this.folder, 'in', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  output(name: string): string {
    return path.join(this.folder, 'out', name);
  }

  /** The id of the job with this result. */
  jobId(name: string): string {
    return jobIdOf(pathToFileURL(this.output(name)).href);
  }

  /** `batch run` */
  async run(wish: Wish = {}): Promise<Ran> {
    return this.end(await this.start(wish));
  }

  /** `batch retry` */
  async retry(wish: Wish = {}): Promise<Ran> {
    return this.end(await this.begin('last', wish));
  }

  start(wish: Wish = {}): Promise<BatchHandle> {
    return this.begin({ sources: ['in'], recursive: true, to: 'pdf' }, wish);
  }

  async end(handle: BatchHandle): Promise<Ran> {
    const result = await handle.result();
    if (!result.planned) throw new Error('it was not planned');
    return { planned: result.planned, result, rows: await this.rows() };
  }

  /** The rows of the latest run, by the name of their results. */
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

  /** Contradictions between the service's records, rows, reports and histories. */
  async problems(): Promise<string[]> {
    const runs = (await listRuns(files, this.batchFolder)).map(({ folder }) => fileURLToPath(folder)).reverse();
    return chargeProblems(conversionsOf(this.rig.stub), runs, this.rig.temporal);
  }

  private get batchFolder(): string {
    return folderUri(this.folder, 'batch');
  }

  /** Starts the batch like the command line. */
  private begin(what: BatchPlan['what'], { resubmit, again }: Wish): Promise<BatchHandle> {
    const { name, folder, batchFolder, onUnknownOutcome, request } = this;
    const plan = { folder: batchFolder, what, cwd: folderUri(folder), out: folderUri(folder, 'out') };
    const policies = { ...quickPolicies, onUnknownOutcome, maxResubmissions: 1, ...request.policies };
    return this.rig.client.startPlanned(name, {
      ...{ app: this.rig.app, plan, ...request, policies },
      ...(resubmit && { resubmit }),
      ...(again && { again }),
    });
  }
}

interface Wish {
  resubmit?: true;
  again?: true;
}

interface Ran {
  planned: PlannedRows;
  result: ConversionBatchResult;
  /** Rows of the latest run that had anything to do. */
  rows: Record<string, BatchItemResult>;
}
