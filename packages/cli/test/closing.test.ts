import { Closing } from '../src/process/closing';

it('closes everything, last opened first, even if one part cannot close, and then says why', async () => {
  const closed: string[] = [];
  const closing = new Closing();
  closing.add(() => closed.push('Temporal'));
  closing.add(() => Promise.reject(new Error('no such folder')));
  closing.add(() => closed.push('worker'));
  await expect(closing.close()).rejects.toThrow('no such folder');
  expect(closed).toEqual(['worker', 'Temporal']);
  await closing.close();
});
