import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { openDatabase, type ServiceDatabase } from '../../src/shared/database';
import { type NewTask, TaskStore } from '../../src/tasks/task-store';
import { createDataDir } from '../support';

let dataDir: string;
let store: TaskStore;
let db: ServiceDatabase;

beforeEach(async () => {
  dataDir = await createDataDir();
  db = openDatabase(path.join(dataDir, 'service.db'));
  store = new TaskStore(db);
});

afterEach(() => store.close());

function newTask(app = 'mine'): NewTask {
  return { id: randomUUID(), app, endpoint: 'v1/convert/file', status: 'running', payload: '{}', createdAt: 1 };
}

const completion = { result: '{"output":{}}', errorCode: null, fileSize: 1, expiresAt: 3, completedAt: 2 };

describe('a task', () => {
  it('shows changes after it was read', () => {
    const task = newTask();
    store.insert(task);
    expect(store.findOfApp(task.id, 'mine')?.status).toBe('running');
    store.beginAttempt(task.id, 1);
    expect(store.findOfApp(task.id, 'mine')?.attempts).toBe(1);
    store.complete({ id: task.id, ...completion });
    expect(store.findOfApp(task.id, 'mine')).toMatchObject({ status: 'completed', result: completion.result });
  });

  it('is found only by its own app, even if that app has just read it', () => {
    const task = newTask();
    store.insert(task);
    expect(store.findOfApp(task.id, 'other')).toBeUndefined();
    expect(store.findOfApp(task.id, 'mine')?.id).toBe(task.id);
    expect(store.findOfApp(task.id, 'other')).toBeUndefined();
  });

  it('is still found after thousands of others were read', () => {
    const task = newTask();
    store.insert(task);
    store.findOfApp(task.id, 'mine');
    for (let count = 0; count < 1_100; count += 1) {
      const next = newTask();
      store.insert(next);
      store.findOfApp(next.id, 'mine');
    }
    store.complete({ id: task.id, ...completion });
    expect(store.findOfApp(task.id, 'mine')?.status).toBe('completed');
  });
});

describe('a task with a callback', () => {
  const callback = 'https://hooks.example.com/done';

  it('has a pending callback from the moment it is completed', () => {
    const [task, done] = [newTask(), { ...newTask(), status: 'completed', completedAt: 2 } as const];
    store.insert({ ...task, callback });
    expect(store.callbacks.find(task.id)).toBeUndefined();
    store.complete({ id: task.id, ...completion });
    store.insert({ ...done, callback });
    for (const { id } of [task, done]) {
      expect(store.callbacks.find(id)).toMatchObject({ state: 'pending', attempts: 0, nextAttemptAt: 2 });
    }
  });

  it('is not completed if its callback cannot be stored', () => {
    const [task, done] = [newTask(), { ...newTask(), status: 'completed' } as const];
    store.insert({ ...task, callback });
    db.exec(`CREATE TRIGGER broken BEFORE INSERT ON callbacks BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
    expect(() => store.complete({ id: task.id, ...completion })).toThrow('disk full');
    expect(store.findOfApp(task.id, 'mine')?.status).toBe('running');
    expect(() => store.insert({ ...done, callback })).toThrow('disk full');
    expect(store.findAnywhere(done.id)).toBeUndefined();
  });
});

describe('unfinished tasks', () => {
  const listed = () => store.listUnfinished().map(({ id }) => id);

  it('are listed in order of arrival', () => {
    const tasks = [newTask(), newTask(), newTask('other')];
    for (const task of tasks) store.insert(task);
    store.complete({ id: tasks[1]?.id ?? '', ...completion });
    expect(listed()).toEqual([tasks[0]?.id, tasks[2]?.id]);
  });

  it('come last if a process died while working on them', () => {
    const tasks = [newTask(), newTask(), newTask()];
    for (const task of tasks) store.insert(task);
    store.beginAttempt(tasks[0]?.id ?? '', 1);
    expect(listed()).toEqual([tasks[1]?.id, tasks[2]?.id, tasks[0]?.id]);
  });
});
