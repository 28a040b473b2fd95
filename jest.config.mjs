import { spawnSync } from 'node:child_process';

const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) console.warn('SKIPPED: all tests of S3, for Go is missing, which builds a server for them.');

/** @type {import('jest').Config} */
const config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/packages'],
  modulePathIgnorePatterns: ['/dist/'],
  // The sources of the packages, instead of what was built of them last.
  moduleNameMapper: {
    '^temporal-file-conversion/internal/(.*)$': '<rootDir>/src/$1',
    '^temporal-file-conversion/(contract|client|storage|s3|callbacks|testing|worker)$': '<rootDir>/src/$1',
    '^temporal-file-conversion$': '<rootDir>/src/index',
    '^temporal-file-conversion-service/internal/(.*)$': '<rootDir>/packages/service/src/$1',
    '^temporal-file-conversion-(service|conformance)$': '<rootDir>/packages/$1/src/index',
  },
  // `npm test` leaves out what ends in .slow.test.ts; `npm run test:slow` runs that alone.
  testMatch: ['**/*.test.ts', ...(hasGo ? [] : ['!**/test/s3/**', '!**/object*.test.ts'])],
  // swc only strips types here; `npm run lint` type-checks the tests.
  transform: { '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  reporters: ['default', '<rootDir>/test/support/slowest-files.mjs', '<rootDir>/test/support/engines-tested.mjs'],
  // A guard against what hangs, and no measure: machines differ threefold.
  testTimeout: 300_000,
  maxWorkers: 3,
};

export default config;
