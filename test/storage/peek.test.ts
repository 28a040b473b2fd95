import fc from 'fast-check';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { peek } from '../../src/storage/peek';

it('keeps the whole stream readable after peeking at its beginning, however it is chunked', async () => {
  const chunk = fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.array(chunk), fc.nat(20), async (chunks, enough) => {
      const whole = Buffer.concat(chunks);
      const { head, isWhole, all } = await peek(Readable.from(chunks), (seen) => seen.length >= enough);
      expect(whole.subarray(0, head.length)).toEqual(head);
      expect(head.length >= enough || (isWhole && head.length === whole.length)).toBe(true);
      expect(await buffer(all)).toEqual(whole);
    }),
  );
});
