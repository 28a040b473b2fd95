import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { anyTime, longMarkdown, serviceOfAllTests, tinySvg } from '../support';

/** The state hold: a task that is accepted and waits for an engine. */

const running = serviceOfAllTests({ conversionConcurrency: 1 });

const entitySchema = z.looseObject({
  status: z.string(),
  created_at: z.string(),
  started_at: z.string().nullable(),
  completed_at: z.string().nullable(),
});

async function entityOf(connector: string) {
  const { output } = await running.client.post('task/response', { connector });
  return entitySchema.parse(output.entity);
}

async function convertLater(file: { name: string; data: string }, output: string) {
  const { client } = running;
  const data = { connector: await client.upload(file.name, file.data), mode: 'async', include: ['entity'] };
  const { body } = await client.post('convert/file', { ...data, parameters: { output } });
  return { id: body.entity?.id ?? '', entity: body.entity };
}

it('is that of a task for which no engine is free, though its own answer says running', async () => {
  const first = await convertLater({ name: 'long.md', data: longMarkdown(40) }, 'docx');
  const second = await convertLater({ name: 'logo.svg', data: tinySvg }, 'png');
  expect(second.entity).toMatchObject({ status: 'running', started_at: anyTime, completed_at: null });
  expect(await entityOf(first.id)).toMatchObject({ status: 'running', started_at: anyTime, completed_at: null });
  const waiting = await entityOf(second.id);
  expect(waiting).toMatchObject({ status: 'hold', created_at: anyTime, started_at: null, completed_at: null });
  const { output } = await running.client.post('convert/status', { connector: second.id });
  expect(output.status).toBe('waiting');
  // The times are told in whole seconds.
  await sleep(1_100);
  await running.client.waitForTask(second.id);
  const done = await entityOf(second.id);
  expect(done.status).toBe('completed');
  expect(String(done.started_at) > done.created_at).toBe(true);
});

it('is over at once when an engine is free', async () => {
  const { id } = await convertLater({ name: 'long.md', data: longMarkdown(20) }, 'docx');
  expect(await entityOf(id)).toMatchObject({ status: 'running', started_at: anyTime });
  await running.client.waitForTask(id);
});
