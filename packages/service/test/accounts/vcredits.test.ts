import { randomUUID } from 'node:crypto';
import path from 'node:path';
import fc from 'fast-check';
import { openDatabase } from '../../src/shared/database';
import { type NewTask, TaskStore } from '../../src/tasks/task-store';
import { createApp, createDataDir, startTestService } from '../support';

/** vCredits are reserved at admission, charged exactly once on success and released on failure. */

function newTask(app: string): NewTask {
  return { id: randomUUID(), app, endpoint: 'v1/convert/file', status: 'running', payload: '{}', createdAt: 1 };
}

type Step =
  | { kind: 'admit'; price: number }
  | { kind: 'end'; which: number; succeeds: boolean }
  | { kind: 'add'; vcredits: number }
  | { kind: 'reopen' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('admit' as const), price: fc.nat(4) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(), succeeds: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('add' as const), vcredits: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
);

describe('the ledger', () => {
  it('keeps balance + charged = given and reserved = the prices of unfinished tasks, and is never overdrawn', async () => {
    const dataDir = await createDataDir();
    let round = 0;
    fc.assert(
      fc.property(fc.nat(20), fc.array(step, { maxLength: 40 }), (given, steps) => {
        const file = path.join(dataDir, `${(round += 1)}.db`);
        let store = new TaskStore(openDatabase(file));
        store.ledger.seed([{ appId: 'app', initialVcredits: given }]);
        const prices = new Map<string, number>();
        const unfinished = new Set<string>();
        let total = given;
        let charged = 0;
        for (const each of steps) {
          if (each.kind === 'admit') {
            const task = newTask('app');
            const { vcredits, reserved } = store.ledger.balanceOf('app');
            const affordable = (vcredits ?? 0) - reserved >= each.price;
            const admit = () => store.admit(task, each.price);
            if (affordable) {
              admit();
              unfinished.add(task.id);
              prices.set(task.id, each.price);
            } else {
              expect(admit).toThrow('Not enough vCredits');
              expect(store.findAnywhere(task.id)).toBeUndefined();
            }
          } else if (each.kind === 'end') {
            // Chooses from all tasks, so that some are completed twice.
            const id = [...prices.keys()][each.which % Math.max(1, prices.size)];
            if (id === undefined) continue;
            const price = prices.get(id) ?? 0;
            const first = unfinished.delete(id);
            store.complete({
              ...{ id, result: '{}', fileSize: 1, expiresAt: 2, completedAt: 2 },
              errorCode: each.succeeds ? null : 'FAILED_CONVERT',
            });
            if (first && each.succeeds) charged += price;
            if (first) expect(store.findAnywhere(id)?.vcredits).toBe(each.succeeds ? price : null);
          } else if (each.kind === 'add') {
            store.ledger.add('app', each.vcredits);
            total += each.vcredits;
          } else {
            store.close();
            store = new TaskStore(openDatabase(file));
            store.ledger.seed([{ appId: 'app', initialVcredits: 1_000_000 }]);
          }
          const held = [...unfinished].reduce((sum, id) => sum + (prices.get(id) ?? 0), 0);
          const balance = store.ledger.balanceOf('app');
          expect(balance).toEqual({ vcredits: total - charged, reserved: held });
          expect((balance.vcredits ?? 0) - balance.reserved).toBeGreaterThanOrEqual(0);
        }
        store.close();
      }),
      { numRuns: 25 },
    );
  });

  it('allows a balance to become unlimited, and limited again, while conversions run', async () => {
    const store = new TaskStore(openDatabase(path.join(await createDataDir(), 'service.db')));
    const complete = (id: string) =>
      store.complete({ id, result: '{}', errorCode: null, fileSize: 1, expiresAt: 2, completedAt: 2 });
    const [paid, free] = [newTask('app'), newTask('app')];
    store.ledger.set('app', 5);
    store.admit(paid, 2);
    store.ledger.set('app', null);
    store.admit(free, 2);
    complete(paid.id);
    expect(store.ledger.balanceOf('app')).toEqual({ vcredits: null, reserved: 0 });
    store.ledger.set('app', 5);
    complete(free.id);
    expect(store.ledger.balanceOf('app')).toEqual({ vcredits: 5, reserved: 0 });
    expect(store.findAnywhere(free.id)?.vcredits).toBe(0);
    store.close();
  });
});

it('concurrent conversions never overdraw a balance', async () => {
  const testApp = createApp();
  const { client, stop } = await startTestService(
    { apps: [{ ...testApp.app, vcredits: 5, prices: { '*': 2 } }] },
    testApp,
  );
  const connector = await client.upload('a.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      client.post('convert/file', { connector, mode: 'async', include: ['entity'], parameters: { output: 'png' } }),
    ),
  );
  const running = answers.filter(({ status }) => status === 200);
  expect(running).toHaveLength(2);
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(8);
  for (const { body } of running) await client.waitForTask(body.entity?.id ?? '');
  await stop();
});
