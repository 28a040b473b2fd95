const { AsyncLocalStorage } = require('node:async_hooks');
const process = require('node:process');
const { promiseHooks } = require('node:v8');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { TestEnvironment } = require('jest-environment-node');
const { ModuleMocker } = require('jest-mock');

/** Those that are enabled: every promise pays for each of them, and jest and the SDK leave some behind with every file. */
const storages = new Set();
const { _enable: enable } = AsyncLocalStorage.prototype;
// Newer versions of Node keep them without a hook.
if (enable) {
  AsyncLocalStorage.prototype._enable = function () {
    storages.add(this);
    enable.call(this);
  };
}

const { createHook } = promiseHooks;
/**
 * A worker whose workflows run in the thread of the test looks for the workflow of each promise of the process, to answer a query for
 * stack traces that no test asks. Node's own hooks, which have a `before`, stay.
 */
promiseHooks.createHook = (hooks) => (hooks.before ? createHook(hooks) : () => undefined);

/**
 * Runs tests in the context of Node itself, where an error of a package or of Node is an `Error` of the tests, too; with `runtime.cjs`,
 * which loads packages once for all files. What jest, or a test, sets among the globals is taken back at the end of its file.
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
    // Of the SDK's worker, if this file or one before it has loaded that: with the logger and the metrics of this file.
    await require.cache[require.resolve('@temporalio/worker')]?.exports.Runtime._instance?.shutdown();
    for (const storage of storages) storage.disable();
    storages.clear();
    process.exit = this.exit;
    // Not a copy that a test has put in its place: what Node itself asks, as for the folder of temporary files, is not in one.
    process.env = this.env;
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    for (const [name, descriptor] of Object.entries(this.globals)) {
      if (descriptor.configurable) Object.defineProperty(globalThis, name, descriptor);
    }
  }
};
