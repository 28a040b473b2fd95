import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { listHistories, readHistory, type RecordedHistory } from './histories';

/** The prices of jobs on the page about Temporal Cloud, checked against the committed histories. */

const page = readFileSync(path.resolve(__dirname, '../../docs/operations/temporal-cloud.md'), 'utf8');
const rows = [...page.matchAll(/^\| .* \| `([\w-]+)` \| (\d+) \| (\d+) \|$/gm)].map(
  ([, history = '', actions, activities]) => ({ history, actions: Number(actions), activities: Number(activities) }),
);

const attempts = z.looseObject({ activityTaskStartedEventAttributes: z.looseObject({ attempt: z.int().default(1) }) });

/** Counts actions as https://docs.temporal.io/cloud/actions does. */
function actionsOf({ events }: RecordedHistory): { actions: number; activities: number } {
  const counted = events.map((event) => {
    switch (event.eventType.replace('EVENT_TYPE_', '')) {
      case 'WORKFLOW_EXECUTION_STARTED':
      case 'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES':
      case 'TIMER_STARTED':
      case 'WORKFLOW_EXECUTION_SIGNALED':
      case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      case 'MARKER_RECORDED':
        return { actions: 1, activities: 0 };
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        return { actions: 2, activities: 0 };
      case 'ACTIVITY_TASK_SCHEDULED':
        return { actions: 1, activities: 1 };
      case 'ACTIVITY_TASK_STARTED':
        return { actions: attempts.parse(event).activityTaskStartedEventAttributes.attempt - 1, activities: 0 };
      default:
        return { actions: 0, activities: 0 };
    }
  });
  const sum = (name: 'actions' | 'activities') => counted.reduce((total, each) => total + each[name], 0);
  return { actions: sum('actions'), activities: sum('activities') };
}

it('states the cost of each path', () => {
  expect(rows.length).toBeGreaterThan(8);
  for (const { history, ...told } of rows) expect([history, told]).toEqual([history, actionsOf(readHistory(history))]);
});

it('covers the most expensive path of a job without a cancellation', () => {
  const jobs = listHistories().filter((name) => name.startsWith('job-') && !name.includes('cancelled'));
  const dearest = Math.max(...jobs.map((name) => actionsOf(readHistory(name)).actions));
  expect(Math.max(...rows.map(({ actions }) => actions))).toBe(dearest);
});
