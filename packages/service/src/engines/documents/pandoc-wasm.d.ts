/** pandoc-wasm comes without types; this is the part that the engines use. */
declare module 'pandoc-wasm' {
  export interface PandocWarning {
    type: string;
    verbosity: string;
    pretty: string;
    message?: string;
    path?: string;
    contents?: string | { c?: unknown };
    line?: number;
    column?: number;
  }

  interface PandocResult {
    stdout: string;
    stderr: string;
    warnings: PandocWarning[];
    files: Record<string, Blob>;
    mediaFiles: Record<string, Blob>;
  }

  export function convert(
    options: Record<string, unknown>,
    stdin: string | null,
    files: Record<string, Blob>,
  ): Promise<PandocResult>;
}

/** The part of WebAssembly that loads pandoc; Node has no types for it. */
declare namespace WebAssembly {
  interface Exports {
    readonly memory: { readonly buffer: ArrayBuffer };
    hs_init_with_rtsopts(argc: number, argv: number): void;
  }

  let instantiate: (binary: Uint8Array, imports: object) => Promise<{ instance: { exports: Exports } }>;
}
