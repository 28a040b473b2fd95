import { z } from 'zod';
import type { ConversionBatchInput } from '../shared/batch';
import { defined } from '../shared/defined';
import { isFormatName } from '../shared/format-name';
import { parametersKey, type ConversionParameters } from '../shared/parameters';
import { unconvertibleChoices, type Unconvertible } from '../shared/policies';
import type { ConversionSweepInput } from '../shared/sweep';
import { asFolder } from '../batch/uris';
import { toBatchInput } from './batch-request';
import { checkRequest, parametersSchema, toUri } from './job-request';

/** What happens when a sweep is due while the previous one still runs. */
export type SweepOverlap = 'skip' | 'buffer' | 'cancel';

/** A shorter interval would end before a plan is made. */
const minEveryMs = 10_000;
const minute = 60_000;
/** Bounded, because the sweep waits for this long before it converts its files. */
const maxSettledForMs = 12 * 60 * minute;

/** When sweeps are due: at an interval in milliseconds, or by a cron expression. */
export type SweepTimes = { everyMs: number } | { cron: string; timeZone?: string };

/** A program's request for a sweep schedule, with paths or `file:` URIs. */
export interface SweepScheduleRequest extends Omit<ConversionBatchInput, 'app' | 'folder' | 'items'> {
  /** Name of the schedule and of its batch, whose jobs are named `<name>/<item>`. */
  name: string;
  times: SweepTimes;
  /** Folder whose files are converted. */
  from: string;
  /** Target format. */
  to: string;
  /** Sent to the service beside the formats. */
  parameters?: ConversionParameters;
  /** Folder for the results. */
  out: string;
  /** Folder of the batch's runs. */
  batchFolder: string;
  /** Extension of the result files, without the dot. Default: the format's name up to the first hyphen. */
  extension?: string;
  recursive?: boolean;
  /** Patterns of files and folders to exclude. */
  exclude?: readonly string[];
  /** What becomes of a file that the service is known not to convert. Default: `fail`. */
  unconvertible?: Unconvertible;
  /** A file modified within this time is left to the next sweep. Default: one minute. */
  settledForMs?: number;
  /** `skip`: drop the new sweep; `buffer`: queue one; `cancel`: cancel the running one first. Default: `skip`. */
  overlap?: SweepOverlap;
  /** Default: the client's app profile. */
  app?: string;
}

const requestSchema = z.object({
  times: z.union([
    z.strictObject({ everyMs: z.int().min(minEveryMs).multipleOf(1000) }),
    z.strictObject({ cron: z.string().min(1), timeZone: z.string().min(1).optional() }),
  ]),
  from: z.string().min(1),
  to: z.string().refine(isFormatName, 'must be a format name such as pdf or txt-markdown'),
  parameters: parametersSchema.optional(),
  out: z.string().min(1),
  batchFolder: z.string().min(1),
  extension: z.string().min(1).optional(),
  recursive: z.boolean().optional(),
  exclude: z.array(z.string().min(1)).optional(),
  unconvertible: z.enum(unconvertibleChoices).optional(),
  settledForMs: z.number().positive().max(maxSettledForMs).optional(),
  overlap: z.enum(['skip', 'buffer', 'cancel']).optional(),
});

/** @throws InvalidRequestError */
export function toSweepInput(request: SweepScheduleRequest, defaultApp: string): ConversionSweepInput {
  const { name, times, overlap, from, to, parameters, out, batchFolder, extension, ...others } = request;
  const { recursive, exclude, unconvertible, settledForMs, ...rest } = others;
  const selection = { recursive, exclude, unconvertible, settledForMs };
  const own = { times, overlap, from, to, parameters, out, batchFolder, extension, ...selection };
  checkRequest(requestSchema, own, "This schedule can't be made.");
  // Validates the batch settings like those of a batch.
  const checked = toBatchInput({ name, folder: batchFolder, items: 0, ...rest }, defaultApp);
  const settings = defined({ ...checked, folder: undefined, items: undefined });
  return {
    batch: name,
    plan: {
      from: toUri(from),
      to,
      ...(parametersKey(parameters) !== '' && { parameters }),
      out: toUri(out),
      ...defined({ extension, recursive: recursive === true || undefined, unconvertible }),
      ...(exclude && exclude.length > 0 && { exclude: [...exclude] }),
      settledForMs: settledForMs ?? minute,
      batchFolder: asFolder(toUri(batchFolder)),
    },
    settings,
  };
}
