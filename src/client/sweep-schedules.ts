import type { Client, ScheduleDescription, ScheduleHandle } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { z } from 'zod';
import { conversionSweepType, defaultTaskQueue } from '../shared/names';
import { listingOptions, searchAttributes } from '../shared/search-attributes';
import { InvalidRequestError } from './job-request';
import { presentSearchAttributes } from './search-attribute-support';
import type { SweepOverlap, SweepScheduleRequest, SweepTimes } from './sweep-request';
import { toSweepInput } from './sweep-request';

/** What was missed while Temporal was down is made up for by one sweep, unless it is older than this. */
const catchupWindow = '1 day';

const overlapPolicies = {
  skip: ScheduleOverlapPolicy.SKIP,
  buffer: ScheduleOverlapPolicy.BUFFER_ONE,
  cancel: ScheduleOverlapPolicy.CANCEL_OTHER,
} as const satisfies Record<SweepOverlap, ScheduleOverlapPolicy>;

/** Kept beside each schedule, for lists: the server turns a cron expression into something else, and lists no input. */
const memoKey = 'conversionSweep';
const memoSchema = z.object({
  from: z.string(),
  to: z.string(),
  out: z.string(),
  everyMs: z.number().optional(),
  cron: z.string().optional(),
  timeZone: z.string().optional(),
});

/** There is a schedule of this name, whoever made it. */
export class ScheduleTakenError extends Error {
  override readonly name = 'ScheduleTakenError';
}

/** There is no schedule of this name that converts files. */
export class NoSuchScheduleError extends Error {
  override readonly name = 'NoSuchScheduleError';
}

export interface ListedSweepSchedule {
  name: string;
  /** What it was made with: URIs; undefined when it was not made by this library. */
  work: z.infer<typeof memoSchema> | undefined;
  isPaused: boolean;
  /** Why it is paused, or who has changed it. */
  note?: string;
  lastRunAt?: Date;
  nextRunAt?: Date;
}

/** Recurring work: Temporal Schedules that start the workflow `conversionSweep`. */
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
   * Makes a schedule, which from then on needs no client.
   * @throws InvalidRequestError also for a cron expression or a time zone that the server does not know; ScheduleTakenError
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
      // What the SDK makes of a refused specification.
      if (error instanceof TypeError) {
        throw new InvalidRequestError(`This schedule can't be made. times: ${error.message}`, { cause: error });
      }
      throw error;
    }
  }

  /** Those of this library's workflow, as far as the server lists them: a new one is listed a moment after it was made. */
  async list(): Promise<ListedSweepSchedule[]> {
    const listed: ListedSweepSchedule[] = [];
    for await (const { scheduleId: name, action, memo, state, info } of this.client.schedule.list()) {
      if (action?.workflowType !== conversionSweepType) continue;
      const [lastRunAt, nextRunAt] = [info.recentActions.at(-1)?.takenAt, info.nextActionTimes[0]];
      listed.push({
        name,
        work: memoSchema.safeParse(memo?.[memoKey]).data,
        isPaused: state.paused,
        ...(state.note !== undefined && state.note !== '' && { note: state.note }),
        ...(lastRunAt && { lastRunAt }),
        ...(nextRunAt && !state.paused && { nextRunAt }),
      });
    }
    return listed.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** @throws NoSuchScheduleError, as do all below. */
  async describe(name: string): Promise<ScheduleDescription> {
    return (await this.find(name)).description;
  }

  /** No sweep begins any more until `resume`; one that runs goes on. */
  async pause(name: string, note = 'paused'): Promise<void> {
    await (await this.find(name)).handle.pause(note);
  }

  async resume(name: string, note = 'resumed'): Promise<void> {
    await (await this.find(name)).handle.unpause(note);
  }

  /** A sweep now, paused or not; while one runs the schedule's overlap policy decides. */
  async trigger(name: string): Promise<void> {
    const { handle, description } = await this.find(name);
    await handle.trigger(description.policies.overlap);
  }

  /**
   * Sweeps for the times in a period of the past, by the schedule's overlap policy: with `skip` and `buffer` it comes to one or two, which find
   * all that there is.
   */
  async backfill(name: string, { start, end }: { start: Date; end: Date }): Promise<void> {
    if (!(start < end)) throw new InvalidRequestError('This period is none: its start must be before its end.');
    const { handle, description } = await this.find(name);
    await handle.backfill({ start, end, overlap: description.policies.overlap });
  }

  /** A sweep that runs goes on; what was converted stays, and so do the runs of the batch. */
  async delete(name: string): Promise<void> {
    await (await this.find(name)).handle.delete();
  }

  /** Somebody's other schedule of this name is none of ours to change. */
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
