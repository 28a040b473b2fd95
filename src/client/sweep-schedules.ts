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
import { defined } from '../shared/defined';
import { conversionSweepType, defaultTaskQueue } from '../shared/names';
import { listingOptions, searchAttributes } from '../shared/search-attributes';
import { endOf } from './conversion-handle';
import { InvalidRequestError } from './job-request';
import { presentSearchAttributes } from './operations/search-attributes';
import { toSweepInput, type SweepOverlap, type SweepScheduleRequest, type SweepTimes } from './sweep-request';

/** Sweeps missed while Temporal was down are replaced by one, unless they are older than this. */
const catchupWindow = '1 day';

const overlapPolicies = {
  skip: ScheduleOverlapPolicy.SKIP,
  buffer: ScheduleOverlapPolicy.BUFFER_ONE,
  cancel: ScheduleOverlapPolicy.CANCEL_OTHER,
} as const satisfies Record<SweepOverlap, ScheduleOverlapPolicy>;

/** Memo of each schedule, for lists: the server rewrites cron expressions, and does not list the input. */
const memoKey = 'conversionSweep';
const memoSchema = z.object({
  from: z.string(),
  to: z.string(),
  out: z.string(),
  everyMs: z.number().optional(),
  cron: z.string().optional(),
  timeZone: z.string().optional(),
});

/** A schedule with this name already exists, of any kind. */
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
  /** Why the last sweep failed. Absent if it did not, or while it runs. */
  lastFailure?: SweepFailure;
}

/** How a sweep ended without a result: the code of its failure, or `CANCELLED`, `TERMINATED` or `TIMED_OUT`. */
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
   * Creates a schedule, which then needs no client.
   * @throws InvalidRequestError, also for a cron expression or time zone unknown to the server; ScheduleTakenError
   */
  async create(request: SweepScheduleRequest): Promise<void> {
    const input = toSweepInput(request, this.app);
    const { name, times, overlap = 'skip' } = request;
    const { from, to, out } = input.plan;
    const listing = listingOptions(
      [
        { key: searchAttributes.app, value: input.settings.app },
        { key: searchAttributes.batchId, value: name },
      ],
      await presentSearchAttributes(this.client),
    );
    try {
      await this.client.schedule.create({
        scheduleId: name,
        spec: specOf(times),
        policies: { overlap: overlapPolicies[overlap], catchupWindow },
        memo: { [memoKey]: { from, to, out, ...times } },
        action: {
          type: 'startWorkflow',
          workflowType: conversionSweepType,
          workflowId: `sweep/${name}`,
          taskQueue: this.taskQueue,
          args: [input],
          staticSummary: `new and changed files → ${to}`,
          ...listing,
        },
      });
    } catch (error) {
      if (error instanceof ScheduleAlreadyRunning) {
        throw new ScheduleTakenError(`There is a schedule ${name} already.`, { cause: error });
      }
      // The SDK's error for a rejected specification.
      if (error instanceof TypeError) {
        throw new InvalidRequestError(`This schedule can't be made. times: ${error.message}`, { cause: error });
      }
      throw error;
    }
  }

  /** The sweep schedules that the server lists; a new one may be missing for a moment. */
  async list(): Promise<ListedSweepSchedule[]> {
    const listed: ListedSweepSchedule[] = [];
    for await (const { scheduleId: name, action, memo, state, info } of this.client.schedule.list()) {
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
          lastFailure: await this.failureOf(last),
        }),
      });
    }
    return listed.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** @throws NoSuchScheduleError, like all methods below. */
  async describe(name: string): Promise<ScheduleDescription> {
    return (await this.find(name)).description;
  }

  /** Why the last sweep failed; undefined if it did not, or while it runs. */
  async lastFailure(name: string): Promise<SweepFailure | undefined> {
    return this.failureOf((await this.describe(name)).info.recentActions.at(-1));
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

  /**
   * Runs the sweeps due in a past period; with overlap `skip` or `buffer` only one or two, which find all files.
   * @throws InvalidRequestError when the period is empty.
   */
  async backfill(name: string, { start, end }: { start: Date; end: Date }): Promise<void> {
    if (!(start < end)) throw new InvalidRequestError('This period is none: its start must be before its end.');
    const { handle, description } = await this.find(name);
    await handle.backfill({ start, end, overlap: description.policies.overlap });
  }

  /** Deletes the schedule. A running sweep continues; results and the batch's runs remain. */
  async delete(name: string): Promise<void> {
    await (await this.find(name)).handle.delete();
  }

  private async failureOf(sweep: ScheduleExecutionResult | undefined): Promise<SweepFailure | undefined> {
    if (!sweep) return undefined;
    const { workflowId, firstExecutionRunId } = sweep.action.workflow;
    const handle = this.client.workflow.getHandle(workflowId, firstExecutionRunId);
    try {
      const { status } = await handle.describe();
      if (['RUNNING', 'PAUSED', 'COMPLETED'].includes(status.name)) return undefined;
      await handle.result();
      return undefined;
    } catch (error) {
      // The server keeps a sweep for as long as the namespace says.
      if (error instanceof WorkflowNotFoundError) return undefined;
      if (error instanceof WorkflowFailedError) return endOf(error);
      throw error;
    }
  }

  /** Ignores schedules of other workflows. */
  private async find(name: string): Promise<{ handle: ScheduleHandle; description: ScheduleDescription }> {
    const handle = this.client.schedule.getHandle(name);
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
