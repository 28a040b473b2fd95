const { AsyncLocalStorage } = require('node:async_hooks');
const process = require('node:process');
const { promiseHooks } = require('node:v8');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { TestEnvironment } = require('jest-environment-node');
const { ModuleMocker } = require('jest-mock');

/** Enabled storages. Each one slows down every promise, and jest and the SDK leave some behind with every file. */
const storages = new Set();
const { _enable: enable } = AsyncLocalStorage.prototype;
// Newer versions of Node implement them without a hook.
if (enable) {
  AsyncLocalStorage.prototype._enable = function () {
    storages.add(this);
    enable.call(this);
  };
}

const { createHook } = promiseHooks;
/**
 * A worker whose workflows run in the test's thread looks up the workflow of every promise in the process, to answer a stack trace query
 * that no test makes. Node's own hooks, which have a `before`, stay.
 */
promiseHooks.createHook = (hooks) => (hooks.before ? createHook(hooks) : () => undefined);

/**
 * Runs tests in Node's own context, where errors of packages and of Node are instances of the tests' `Error`. Together with `runtime.cjs`,
 * which loads packages once for all files. Globals set by jest or a test are restored at the end of the file.
 */
module.exports = class NodeContext extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.globals = Object.getOwnPropertyDescriptors(globalThis);
    this.env = process.env;
    this.variables = { ...process.env };
    this.exit = process.exit;
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
  }

  async teardown() {
    await super.teardown();
    // The runtime of the SDK's worker, if any file has loaded it: it has this file's logger and metrics.
    await require.cache[require.resolve('@temporalio/worker')]?.exports.Runtime._instance?.shutdown();
    for (const storage of storages) storage.disable();
    storages.clear();
    process.exit = this.exit;
    // The original object, not a test's copy: Node itself reads from it, for example the folder for temporary files.
    process.env = this.env;
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    for (const [name, descriptor] of Object.entries(this.globals)) {
      if (descriptor.configurable) Object.defineProperty(globalThis, name, descriptor);
    }
  }
};
