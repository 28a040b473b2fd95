/** The app by which the services of the benchmarks are asked. */
export const app = { appId: '7d7f6b1e-6f0c-4b5e-9d86-0d6a0f9f0b3c', token: 'bench-token' };

/** Becomes an image in next to no time. */
export const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
