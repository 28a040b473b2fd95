import path from 'node:path';

/** What a command starts for each process of a stack: compiled code, also when a test runs the source. */
export const mainFile = path.resolve(__dirname, '../dist/main.js');
