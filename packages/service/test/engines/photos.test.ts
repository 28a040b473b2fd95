import sharp from 'sharp';
import { startTestService } from '../support';

let running: Awaited<ReturnType<typeof startTestService>>;
beforeAll(async () => {
  running = await startTestService();
});
afterAll(() => running.stop());

it('a photo that a camera held upright is upright in every format, which may not tell how to turn it', async () => {
  // Stored lying: a viewer turns it by a quarter, as orientation 6 says, so that red comes to the top.
  const halves = [
    { input: { create: { width: 20, height: 20, channels: 3, background: 'red' } as const }, left: 0, top: 0 },
    { input: { create: { width: 20, height: 20, channels: 3, background: 'blue' } as const }, left: 20, top: 0 },
  ];
  const lying = sharp({ create: { width: 40, height: 20, channels: 3, background: 'white' } }).composite(halves);
  const photo = await lying.jpeg().withMetadata({ orientation: 6 }).toBuffer();
  for (const output of ['png', 'webp', 'gif']) {
    const { bytes } = await running.client.convertToBytes({ name: 'photo.jpg', data: photo }, output);
    const picture = sharp(bytes);
    expect([output, await picture.metadata()]).toMatchObject([output, { width: 20, height: 40 }]);
    const [red = 0, , blue = 0] = await picture.extract({ left: 10, top: 10, width: 1, height: 1 }).raw().toBuffer();
    expect([output, red > blue]).toEqual([output, true]);
  }
});
