import { spawnSync } from 'node:child_process';

const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) console.warn('SKIPPED: all tests of S3, for Go is missing, which builds a server for them.');

/** @type {import('jest').Config} */
const config = {
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  roots: ['<rootDir>/test', '<rootDir>/packages'],
  modulePathIgnorePatterns: ['/dist/'],
  // The sources of the packages, instead of what was built of them last.
  moduleNameMapper: {
    '^temporal-file-conversion/(batch|callbacks|client|contract|encryption|http|job|messages|network|s3|storage|testing|worker)$':
      '<rootDir>/src/$1',
    '^temporal-file-conversion$': '<rootDir>/src/index',
    '^temporal-file-conversion-service/(administration|engines|settings)$': '<rootDir>/packages/service/src/$1',
    '^temporal-file-conversion-(service|conformance)$': '<rootDir>/packages/$1/src/index',
    // What is loaded when it is needed is named as it is called once it is compiled.
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // What `npm test` leaves out; `npm run test:all` runs the slow ones too, `npm run test:nightly` the others.
  testPathIgnorePatterns: ['\\.slow\\.test\\.ts$', '\\.nightly\\.test\\.ts$'],
  testMatch: ['**/*.test.ts', ...(hasGo ? [] : ['!**/test/s3/**', '!**/object*.test.ts'])],
  // swc only strips types here; `npm run lint` type-checks the tests.
  transform: { '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: ['default', '<rootDir>/test/support/slowest-files.mjs', '<rootDir>/test/support/engines-tested.mjs'],
  // A guard against what hangs, and no measure: machines differ threefold.
  testTimeout: 300_000,
  // More than two cores: tests wait for Temporal more than they compute.
  maxWorkers: 5,
};

export default config;
