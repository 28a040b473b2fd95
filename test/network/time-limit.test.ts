import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitTime } from '../../src/network/time-limit';
import { until } from '../support/until';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('fires even if only a listener refers to it and everything else was garbage-collected', async () => {
  let isAborted = false;
  limitTime(new AbortController().signal, 100).signal.addEventListener('abort', () => (isAborted = true));
  await sleep(20);
  collectGarbage();
  await until('it comes', () => isAborted);
});

it('is freed when it has ended, even while its own signal and another one are still referenced', async () => {
  const { signal } = new AbortController();
  const freed = new Set<number>();
  const registry = new FinalizationRegistry((id: number) => freed.add(id));
  for (let id = 0; id < 20; id += 1) {
    const limit = limitTime(signal, 60_000);
    limit.signal.addEventListener('abort', () => undefined);
    registry.register(limit.signal, id);
    limit.end();
  }
  await until('most are freed', async () => {
    collectGarbage();
    await sleep(10);
    return freed.size >= 15;
  });
});

it('says whether the time was over or the other signal came first, even if that was before', () => {
  const controller = new AbortController();
  const limit = limitTime(controller.signal, 60_000);
  controller.abort(new Error('enough'));
  expect(limit).toMatchObject({ isOver: false, signal: { aborted: true, reason: { message: 'enough' } } });
  expect(limitTime(controller.signal, 60_000).signal.aborted).toBe(true);
});
