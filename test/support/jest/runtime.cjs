const { createRequire } = require('node:module');
const path = require('node:path');
const { compileFunction, constants } = require('node:vm');
const JestRuntime = require('jest-runtime').default;

/** Compiled code, shared by all test files of this process. Each file still gets its own module instance. */
const compiled = new Map();

/**
 * Loads packages with Node's own loader, once for all test files of a process, and compiles each of our files once, which saves two thirds
 * of jest's loading time. Modules of this repository are still instantiated for each test file.
 */
class SharedPackages extends JestRuntime {
  constructor(...options) {
    super(...options);
    const { executor, cjsLoader } = this;
    executor.compile = (source, filename) => {
      const known = compiled.get(filename);
      if (known?.source === source) return known.run;
      const run = compileFunction(source, executor.injectedModuleParameters, {
        filename,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      compiled.set(filename, { source, run });
      return run;
    };
    const requireOwn = cjsLoader.requireModule.bind(cjsLoader);
    cjsLoader.requireModule = (from, name, ...rest) => {
      const [options] = rest;
      if (options?.isInternalModule || !isPackage(name)) return requireOwn(from, name, ...rest);
      return createRequire(from)(name);
    };
  }
}

function isPackage(name) {
  return name !== undefined && !/^(\.|node:|temporal-file-conversion)/.test(name) && !path.isAbsolute(name);
}

module.exports = { __esModule: true, default: SharedPackages };
