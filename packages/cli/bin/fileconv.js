#!/usr/bin/env node
const process = require('node:process');

try {
  require.resolve('../dist/main.js');
} catch {
  process.stderr.write('error: fileconv is not built here yet. In its repository: npm run build\n');
  process.exit(1);
}
require('../dist/main.js');
