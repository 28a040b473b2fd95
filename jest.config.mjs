/** @type {import('jest').Config} */
const config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  // `npm test` leaves out what ends in .slow.test.ts; `npm run test:slow` runs that alone.
  testMatch: ['**/*.test.ts'],
  // swc only strips types here; `npm run lint` type-checks the tests.
  transform: { '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: ['default', '<rootDir>/test/support/slowest-files.mjs'],
  testTimeout: 60_000,
  maxWorkers: 2,
};

export default config;
