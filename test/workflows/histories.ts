import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const folder = path.resolve(__dirname, '../histories');

const historySchema = z.looseObject({ events: z.array(z.looseObject({ eventType: z.string() })).min(1) });
const startedSchema = z.looseObject({
  workflowExecutionStartedEventAttributes: z.looseObject({ workflowId: z.string() }),
});
const activitySchema = z.looseObject({
  activityTaskScheduledEventAttributes: z.looseObject({ activityType: z.strictObject({ name: z.string() }) }),
});
const signalSchema = z.looseObject({
  workflowExecutionSignaledEventAttributes: z.looseObject({ signalName: z.string() }),
});
const updateSchema = z.looseObject({
  workflowExecutionUpdateAcceptedEventAttributes: z.looseObject({
    acceptedRequest: z.looseObject({ input: z.looseObject({ name: z.string() }) }),
  }),
});

/** A committed history, in the format of the Temporal UI and CLI. */
export type RecordedHistory = z.infer<typeof historySchema>;

export const listHistories = (): string[] =>
  readdirSync(folder)
    .map((file) => path.parse(file).name)
    .sort();

export const historyText = (name: string): string => readFileSync(path.join(folder, `${name}.json`), 'utf8');

export const readHistory = (name: string): RecordedHistory => historySchema.parse(JSON.parse(historyText(name)));

export const workflowIdOf = ({ events }: RecordedHistory): string =>
  startedSchema.parse(events[0]).workflowExecutionStartedEventAttributes.workflowId;

/** The steps of the workflow in order, as words: activities, `child`, `timer`, `cancel` (of an activity), signals, Updates and the end. */
export const stepsOf = ({ events }: RecordedHistory): string => events.flatMap(stepOf).join(' ');

function stepOf(event: RecordedHistory['events'][number]): string[] {
  switch (event.eventType) {
    case 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED':
      return [activitySchema.parse(event).activityTaskScheduledEventAttributes.activityType.name.replace(/^.*\./, '')];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED':
      return [signalSchema.parse(event).workflowExecutionSignaledEventAttributes.signalName];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      return [updateSchema.parse(event).workflowExecutionUpdateAcceptedEventAttributes.acceptedRequest.input.name];
    case 'EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED':
      return ['child'];
    case 'EVENT_TYPE_TIMER_STARTED':
      return ['timer'];
    case 'EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED':
      return ['cancel'];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED':
      return ['completed'];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_FAILED':
      return ['failed'];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED':
      return ['cancelled'];
    case 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
      return ['continued'];
    default:
      return [];
  }
}

const payloadSchema = z.looseObject({ metadata: z.record(z.string(), z.string()), data: z.string() });

/** All strings of a history, including those in payloads. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  const payload = payloadSchema.safeParse(value);
  if (payload.success) return [Buffer.from(payload.data.data, 'base64').toString('utf8')];
  return Object.values(value).flatMap(textsOf);
}
