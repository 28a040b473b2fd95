import fs from 'node:fs';
import { S3Client } from '@aws-sdk/client-s3';

type Method = (this: unknown, ...args: never[]) => unknown;

/**
 * Lets code change files and objects until its n-th change. That change and all later ones fail, including those of cleanup code, so the
 * result is what `kill -9` leaves.
 */
export async function changesUntil(n: number): Promise<{ areOver(): boolean; restore(): void }> {
  let changes = 0;
  const restores: (() => void)[] = [];
  const count = (object: object, names: readonly string[], changesSomething: Method = () => true) => {
    for (const name of names) {
      const own = Reflect.get(object, name) as Method;
      const counted: Method = function (...args) {
        if (changesSomething(...args)) changes += 1;
        if (changes >= n) throw new Error('This process was killed.');
        return own.apply(this, args);
      };
      Reflect.set(object, name, counted);
      restores.push(() => Reflect.set(object, name, own));
    }
  };
  const handle = await fs.promises.open(__filename);
  await handle.close();
  const isNew: Method = (_file: string, flags: string) => flags === 'wx';
  count(Object.getPrototypeOf(handle) as object, ['sync']);
  count(fs.promises, ['open'], isNew);
  count(fs.promises, ['mkdir', 'unlink', 'rm']);
  count(fs, ['openSync'], isNew);
  count(fs, ['linkSync', 'renameSync', 'unlinkSync']);
  // A multipart upload that was begun but not marked yet can't be found: docs/operations/object-stores.md, "Clean up".
  const isMark = ({ input }: { input: { PartNumber?: number } }) => input.PartNumber === 10_000;
  const isChange: Method = (command: { constructor: { name: string }; input: object }) =>
    !/^(Get|Head|List)/.test(command.constructor.name) && !isMark(command);
  count(S3Client.prototype, ['send'], isChange);
  return { areOver: () => changes >= n, restore: () => restores.forEach((each) => each()) };
}
