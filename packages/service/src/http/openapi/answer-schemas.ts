import { endpoints, errorCodes, taskStatuses, type Endpoint } from 'temporal-file-conversion/contract';
import { z } from 'zod';

/**
 * What this service answers, for its description. The contract's own schemas say what a client puts up with; these are exact.
 */

const datetime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/)
  .meta({ description: 'Date and time in UTC: YYYY-MM-DD HH:MM:SS.' });

const entityKeys = {
  id: z.uuid().meta({ description: 'Task ID. Equals the connector in the output, when the task produces one.' }),
  type: z.literal('task'),
  endpoint: z.string().meta({ description: 'Path of the task, with its version segment.' }),
  status: z.enum(taskStatuses),
  vcredits: z.int().min(0).meta({ description: 'vCredits consumed: 0 before a task has succeeded.' }),
  created_at: datetime.nullable().meta({ description: 'When it was accepted.' }),
  started_at: datetime.nullable().meta({ description: 'When an engine began; null while it is on hold.' }),
  completed_at: datetime.nullable().meta({ description: 'When it ended, well or not.' }),
};

const entity = z.strictObject(entityKeys).meta({ description: 'Section "Entity keys".' });

const noError = z.strictObject({});
const errorObject = z.strictObject({
  code: z.enum(Object.keys(errorCodes)),
  message: z.string().min(1),
});
const warning = z
  .record(z.string(), z.string())
  .meta({ description: 'Names of warnings, and how to resolve each. Empty when there are none.' });

/** Of a conversion that was accepted and failed. */
const failedOutput = z.strictObject({ status: z.literal('failed'), duration: z.int().min(0) });
const nothing = z.strictObject({});

function resultOf(output: z.ZodType): z.ZodType {
  return z.union([
    z.strictObject({ output, error: noError, warning }),
    z.strictObject({ output: z.union([nothing, failedOutput]), error: errorObject, warning }),
    // While the task is not completed.
    z.strictObject({ output: nothing, error: noError, warning }),
  ]);
}

/** Beside a result that holds the error at 4xx and 5xx, and wherever include leaves the result out. */
const topLevelError = {
  code: z.enum(Object.keys(errorCodes)).optional(),
  message: z.string().min(1).optional(),
};

/** What was sent in the field `data`. */
const payload = z.record(z.string(), z.unknown());

/** "Task response body"; which of the items are there depends on `include`. */
export function taskResponseOf(output: z.ZodType): z.ZodType {
  return z.strictObject({
    entity: entity.optional(),
    payload: payload.optional(),
    result: resultOf(output).optional(),
    ...topLevelError,
  });
}

/** The answer to a request that failed before or as a task. */
export function refusalWith(codes: readonly string[]): z.ZodType {
  return z.strictObject({
    entity: entity.optional(),
    payload: payload.optional(),
    result: z
      .strictObject({
        output: nothing,
        error: z.strictObject({ code: z.enum(codes), message: z.string().min(1) }),
        warning,
      })
      .optional(),
    code: z.enum(codes),
    message: z.string().min(1),
  });
}

const format = z.strictObject({
  format: z.string(),
  extension: z.string(),
  type: z.string().nullable(),
  name: z.string(),
  title: z.string(),
  categories: z.array(z.string()),
});

const file = { connector: z.uuid(), name: z.string(), size: z.int().min(0), expires_at: datetime };

/** The output of each task when it succeeds; `download/url/get` answers bytes. */
export const outputs: Readonly<Record<Exclude<Endpoint, typeof endpoints.downloadUrlGet>, z.ZodType>> = {
  [endpoints.uploadFile]: z.strictObject(file),
  [endpoints.convertFile]: z.strictObject({
    connector: z.uuid(),
    status: z.literal('successful'),
    duration: z.int().min(0).meta({ description: 'Seconds.' }),
  }),
  [endpoints.taskResponse]: z
    .strictObject({
      entity: entity.optional(),
      payload: payload.optional(),
      result: resultOf(z.record(z.string(), z.unknown())).nullable().optional(),
    })
    .meta({ description: 'Entity, payload and result of the monitored task, as parameters.include selects.' }),
  [endpoints.downloadUrl]: z.strictObject({ ...file, url: z.url() }),
  [endpoints.convertFormats]: z.strictObject({ formats: z.array(format) }),
  [endpoints.convertGraph]: z.strictObject({
    is_match: z.boolean().meta({ description: 'Whether the input converts to the output.' }),
    is_reversable: z.boolean().meta({ description: 'Whether the output converts back to the input.' }),
  }),
  [endpoints.convertStatus]: z.strictObject({ status: z.enum(['waiting', 'pending', 'successful', 'failed']) }),
  [endpoints.formatGet]: format,
};
