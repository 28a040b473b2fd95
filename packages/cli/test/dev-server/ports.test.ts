import { freePort, portNear } from '../../src/dev-server';

it('never hands out the same port twice', async () => {
  const ports = [await portNear(await freePort())];
  for (let count = 0; count < 1_500; count += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
});
