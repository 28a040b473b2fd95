import path from 'node:path';

/** What a command starts for each process of a stack; the path is right from src, from dist and from the bundle that lies in dist/cli. */
export const mainFile = path.resolve(__dirname, '../../dist/cli/main.js');
