import { setFlagsFromString } from 'node:v8';
import type * as Pandoc from 'pandoc-wasm';

const packagesHeap = '-H64m\0';
const defaultHeap = '-A4m\0';

let pandoc: Promise<typeof Pandoc> | undefined;

/**
 * pandoc, loaded once. Its package asks for a heap of 64 MiB (`-H64m`), whose growth V8 takes for memory pressure, so that it marks its
 * own heap: the first hundred conversions of a process took twice as long. pandoc's default is 4 MiB.
 */
export function loadPandoc(): Promise<typeof Pandoc> {
  pandoc ??= startPandoc().catch((error: unknown) => {
    // The package may be installed before the next conversion.
    pandoc = undefined;
    throw error;
  });
  return pandoc;
}

async function startPandoc() {
  // Validates functions when they are first called: most never are.
  setFlagsFromString('--wasm-lazy-validation');
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = async (binary, imports) => {
    const { instance } = await instantiate(binary, imports);
    return { instance: { exports: withUsualHeap(instance.exports) } };
  };
  try {
    return await import('pandoc-wasm');
  } finally {
    WebAssembly.instantiate = instantiate;
  }
}

/** The same exports with another heap size; `argc` and `argv` are the addresses of the arguments of `main`. */
function withUsualHeap(exports: WebAssembly.Exports): WebAssembly.Exports {
  return {
    ...exports,
    hs_init_with_rtsopts(argc, argv) {
      const { buffer } = exports.memory;
      const [count] = new Uint32Array(buffer, argc, 1);
      const [start] = new Uint32Array(buffer, argv, 1);
      for (const address of new Uint32Array(buffer, start, count)) {
        const argument = Buffer.from(buffer, address, packagesHeap.length);
        if (argument.toString() === packagesHeap) argument.write(defaultHeap);
      }
      exports.hs_init_with_rtsopts(argc, argv);
    },
  };
}
