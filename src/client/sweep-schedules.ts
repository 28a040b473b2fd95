import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
  type ScheduleDescription,
  type ScheduleExecutionResult,
  type ScheduleHandle,
} from '@temporalio/client';
import { z } from 'zod';
import { parseTemplate } from '../batch/destinations/resolve';
import { asFolder } from '../batch/uris';
import type { BatchPlan, ConversionSweepInput, ConversionSweepResult, SourceMoves } from '../batch/model/types';
import { describeWorkflow, lenient } from '../history/find-workflow';
import { isOfServer } from '../history/grpc';
import { defined } from '../job/defined';
import { isOpen } from '../job/job-outcome';
import { conversionSweepType, defaultTaskQueue } from '../job/names';
import { parametersKey } from '../job/parameters';
import { searchAttributes, storable } from '../job/search-attributes';
import {
  checkSettings,
  planSchema,
  spelledUri,
  toSettings,
  type BatchSettings,
  type PlanRequest,
} from './batch-request';
import { endOf } from './conversion-handle';
import { checkRequest, fileName, InvalidRequestError, splitRequest, targetFormat, nonEmptyText } from './job-request';
import { readFailedBatchStep } from './operations/job-waiting';
import { hasSearchAttributes } from './operations/search-attributes';

/** What happens when a sweep is due while the previous one still runs. */
export type SweepOverlap = 'skip' | 'buffer' | 'cancel';

/** With a shorter interval, sweeps would be due before the plan of the previous one is made. */
const minEveryMs = 10_000;
const minute = 60_000;

/** When sweeps are due: at an interval in milliseconds, or by a cron expression. */
export type SweepTimes = { everyMs: number } | { cron: string; timeZone?: string };

/** A program's request for a sweep schedule, with paths or `file:` URIs. */
export interface SweepScheduleRequest
  extends
    Omit<BatchSettings, 'resubmit' | 'again'>,
    Pick<PlanRequest, 'parameters' | 'template' | 'recursive' | 'exclude' | 'unconvertible'> {
  /** Name of the schedule and of its batch. */
  name: string;
  times: SweepTimes;
  /** Folder whose files are converted. */
  from: string;
  /** Target format. */
  to: string;
  /** Folder for the results; mirrors the source folders, and is created if missing. */
  out: string;
  /** Extension of the result files, without the dot. Default: the format's name up to the first hyphen. */
  extension?: string;
  /** Folder of the batch's ledger and runs. */
  batchFolder: string;
  /** A file modified within this time is left to the next sweep. Default: one minute. */
  settledForMs?: number;
  /**
   * Folder to which a source is moved once its result is delivered, at its path relative to `from`. Must be in the same store as
   * `from`. Never replaces a file: a taken name gets a number. Default: sources stay.
   */
  moveDoneTo?: string;
  /**
   * The same for a source whose conversion failed and can't have been charged; a file beside it gives the reason. `fileconv batch
   * retry` moves it back. Default: sources stay.
   */
  moveFailedTo?: string;
  /** `skip`: drop the new sweep; `buffer`: queue one; `cancel`: cancel the running one first. Default: `skip`. */
  overlap?: SweepOverlap;
}

function mustBeTemplate(template: string, context: z.RefinementCtx): void {
  const parsed = parseTemplate(template);
  if ('problem' in parsed) context.addIssue({ code: 'custom', message: `can't be used: ${parsed.problem}` });
}

const { parameters, recursive, exclude, unconvertible } = planSchema.shape;
const requestSchema = z.object({
  ...{ parameters, recursive, exclude, unconvertible },
  times: z.union(
    [
      z.strictObject({ everyMs: z.int().min(minEveryMs).multipleOf(1000) }),
      z.strictObject({ cron: nonEmptyText, timeZone: nonEmptyText.optional() }),
    ],
    `must be { everyMs }, whole seconds and at least ${minEveryMs}, or { cron } with a timeZone or without`,
  ),
  from: fileName,
  to: targetFormat,
  out: fileName,
  batchFolder: fileName,
  template: nonEmptyText.superRefine(mustBeTemplate).optional(),
  extension: nonEmptyText.optional(),
  settledForMs: z.number().positive().optional(),
  moveDoneTo: fileName.optional(),
  moveFailedTo: fileName.optional(),
  overlap: z.enum(['skip', 'buffer', 'cancel']).optional(),
});

/** Sweeps missed while Temporal was down are replaced by one, unless they are older than this. */
const catchupWindow = '1 day';

const overlapPolicies = {
  skip: ScheduleOverlapPolicy.SKIP,
  buffer: ScheduleOverlapPolicy.BUFFER_ONE,
  cancel: ScheduleOverlapPolicy.CANCEL_OTHER,
} as const satisfies Record<SweepOverlap, ScheduleOverlapPolicy>;

/** Memo of each schedule, for listing: the server rewrites cron expressions and does not list the input. */
const memoKey = 'conversionSweep';
const memoSchema = z.object({
  from: z.string(),
  to: z.string(),
  out: z.string(),
  everyMs: z.number().optional(),
  cron: z.string().optional(),
  timeZone: z.string().optional(),
});

/** A schedule of any kind with this name already exists. */
export class ScheduleTakenError extends Error {
  override readonly name = 'ScheduleTakenError';
}

/** There is no sweep schedule with this name. */
export class NoSuchScheduleError extends Error {
  override readonly name = 'NoSuchScheduleError';
}

export interface ListedSweepSchedule {
  name: string;
  /** The request's values, as URIs; undefined for a schedule that this library did not create. */
  work: z.infer<typeof memoSchema> | undefined;
  isPaused: boolean;
  /** Why it is paused, or who changed it. */
  note?: string;
  lastRunAt?: Date;
  nextRunAt?: Date;
  /** Result of the last sweep. Absent if it failed, or while it runs. */
  lastResult?: ConversionSweepResult;
  /** Why the last sweep failed. Absent if it succeeded, or while it runs. */
  lastFailure?: SweepFailure;
  /** Why the running sweep can't look for files yet; it retries. */
  retrying?: SweepFailure;
}

/** Code of a sweep's failure, or `CANCELLED`, `TERMINATED` or `TIMED_OUT`. */
export interface SweepFailure {
  code: string;
  message: string;
}

/** Manages Temporal Schedules that start the workflow `conversionSweep`. */
export class SweepSchedules {
  private readonly client: Client;
  private readonly taskQueue: string;
  private readonly app: string;

  /** Defaults: task queue `file-conversion`, app profile `embedded`. */
  constructor(options: { client: Client; taskQueue?: string; app?: string }) {
    this.client = options.client;
    this.taskQueue = options.taskQueue ?? defaultTaskQueue;
    this.app = options.app ?? 'embedded';
  }

  /**
   * Creates a schedule, which needs no client to run.
   * @throws InvalidRequestError, also for a cron expression or time zone unknown to the server; ScheduleTakenError
   */
  async create(request: SweepScheduleRequest): Promise<void> {
    const input = toSweepInput(request, this.app);
    const { name, times, overlap = 'skip' } = request;
    const { from, to, out } = request;
    const typedSearchAttributes = storable([
      { key: searchAttributes.app, value: input.input.app },
      { key: searchAttributes.batchId, value: name },
    ]);
    const isListed = await hasSearchAttributes(this.client);
    try {
      await this.client.schedule.create({
        scheduleId: name,
        spec: specOf(times),
        policies: { overlap: overlapPolicies[overlap], catchupWindow },
        memo: { [memoKey]: { from: spelledUri(from), to, out: spelledUri(out), ...times } },
        action: {
          type: 'startWorkflow',
          workflowType: conversionSweepType,
          workflowId: `sweep/${name}`,
          taskQueue: this.taskQueue,
          args: [input],
          staticSummary: `new and changed files → ${to}`,
          ...(isListed && { typedSearchAttributes }),
        },
      });
    } catch (error) {
      if (error instanceof ScheduleAlreadyRunning) {
        throw new ScheduleTakenError(`There is a schedule ${name} already.`, { cause: error });
      }
      // The SDK's error for a specification rejected by the server.
      if (error instanceof TypeError) {
        throw new InvalidRequestError(`This schedule can't be made. times: ${error.message}`, { cause: error });
      }
      throw error;
    }
  }

  /** The sweep schedules that the server lists; a new one may be missing for a moment. */
  async list(): Promise<ListedSweepSchedule[]> {
    const listed: ListedSweepSchedule[] = [];
    for await (const { scheduleId: name, action, memo, state, info } of lenient(this.client).schedule.list()) {
      if (action?.workflowType !== conversionSweepType) continue;
      const last = info.recentActions.at(-1);
      listed.push({
        name,
        work: memoSchema.safeParse(memo?.[memoKey]).data,
        isPaused: state.paused,
        ...defined({
          note: state.note === '' ? undefined : state.note,
          lastRunAt: last?.takenAt,
          nextRunAt: state.paused ? undefined : info.nextActionTimes[0],
          ...(await this.lastSweepOf(last)),
        }),
      });
    }
    return listed.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** @throws NoSuchScheduleError, like all methods below. */
  async describe(name: string): Promise<ScheduleDescription> {
    return (await this.find(name)).description;
  }

  /** Outcome of the last sweep, as in `list`. */
  async lastSweep(name: string) {
    return this.lastSweepOf((await this.describe(name)).info.recentActions.at(-1));
  }

  /** Starts no sweep until `resume`; a running one continues. */
  async pause(name: string, note = 'paused'): Promise<void> {
    await (await this.find(name)).handle.pause(note);
  }

  async resume(name: string, note = 'resumed'): Promise<void> {
    await (await this.find(name)).handle.unpause(note);
  }

  /** Starts a sweep now, even when paused; the overlap policy applies while one runs. */
  async trigger(name: string): Promise<void> {
    const { handle, description } = await this.find(name);
    await handle.trigger(description.policies.overlap);
  }

  /** Deletes the schedule. A running sweep continues; results and the batch's runs remain. */
  async delete(name: string): Promise<void> {
    await (await this.find(name)).handle.delete();
  }

  private async lastSweepOf(
    sweep: ScheduleExecutionResult | undefined,
  ): Promise<Pick<ListedSweepSchedule, 'lastResult' | 'lastFailure' | 'retrying'>> {
    if (!sweep) return {};
    const { workflowId, firstExecutionRunId } = sweep.action.workflow;
    const handle = this.client.workflow.getHandle(workflowId, firstExecutionRunId);
    try {
      const description = await handle.describe();
      if (isOpen(description)) {
        const [batch] = description.raw.pendingChildren ?? [];
        if (!batch?.workflowId) return {};
        const step = readFailedBatchStep(await describeWorkflow(this.client.workflow.getHandle(batch.workflowId)));
        const { lastFailureType: code = 'TIMED_OUT', lastFailure: message } = step ?? {};
        return message === undefined ? {} : { retrying: { code, message } };
      }
      return { lastResult: (await handle.result()) as ConversionSweepResult };
    } catch (error) {
      // The server deletes finished sweeps after the namespace's retention period.
      if (error instanceof WorkflowNotFoundError) return {};
      if (error instanceof WorkflowFailedError) return { lastFailure: endOf(error) };
      if (isOfServer(error)) throw error;
      // The result can't be read here, for example for lack of a key: list the schedule anyway.
      return {};
    }
  }

  /** Treats schedules of other workflows as missing. */
  private async find(name: string): Promise<{ handle: ScheduleHandle; description: ScheduleDescription }> {
    const handle = lenient(this.client).schedule.getHandle(name);
    try {
      const description = await handle.describe();
      if (description.action.workflowType === conversionSweepType) return { handle, description };
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
    throw new NoSuchScheduleError(`There is no schedule ${name} that converts files.`);
  }
}

function specOf(times: SweepTimes) {
  if ('everyMs' in times) return { intervals: [{ every: times.everyMs }] };
  return { cronExpressions: [times.cron], ...(times.timeZone !== undefined && { timezone: times.timeZone }) };
}

/** @throws InvalidRequestError */
function toMoves(
  from: string,
  { moveDoneTo, moveFailedTo }: Pick<SweepScheduleRequest, 'moveDoneTo' | 'moveFailedTo'>,
): SourceMoves | undefined {
  const folderFor = (field: string, written: string | undefined): string | undefined => {
    if (written === undefined) return undefined;
    const folder = asFolder(spelledUri(written));
    const scheme = /^[^:]*:/.exec(from)?.[0] ?? '';
    const refusal = (problem: string) => new InvalidRequestError(`This schedule can't be made. ${field}: ${problem}`);
    if (folder === from) throw refusal('is the folder that is converted; name another one');
    if (!folder.startsWith(scheme))
      throw refusal(`must be in the same store as the files, with a URI that begins with ${scheme}`);
    return folder;
  };
  const [done, failed] = [folderFor('moveDoneTo', moveDoneTo), folderFor('moveFailedTo', moveFailedTo)];
  return done === undefined && failed === undefined ? undefined : { from, ...defined({ done, failed }) };
}

/** @throws InvalidRequestError */
export function toSweepInput(request: SweepScheduleRequest, defaultApp: string): ConversionSweepInput {
  checkRequest(requestSchema, request, "This schedule can't be made.");
  const { own, rest } = splitRequest(request, requestSchema);
  const { from, to, parameters, out, batchFolder, extension, template } = own;
  const { recursive, exclude = [], unconvertible, settledForMs = minute } = own;
  checkSettings(rest, "This schedule can't be made.");
  const folder = asFolder(spelledUri(from));
  const what = {
    sources: [folder],
    to,
    recursive: recursive === true,
    exclude,
    ...(parametersKey(parameters) !== '' && { parameters }),
  };
  const plan: BatchPlan = {
    folder: asFolder(spelledUri(batchFolder)),
    what: defined(what),
    cwd: folder,
    out: asFolder(spelledUri(out)),
    settledForMs,
    ...defined({
      moves: toMoves(folder, own),
      template,
      unconvertible,
      extensions: extension === undefined ? undefined : { [to]: extension },
    }),
  };
  return { batch: request.name, input: { ...toSettings(rest, defaultApp), plan, isScheduled: true } };
}
