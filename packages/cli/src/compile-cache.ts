import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import { cachedDataVersionTag, deserialize, serialize } from 'node:v8';
import { Script } from 'node:vm';

/** Where Node compiles a module; the types of Node leave it out, though many programs replace it. */
interface Compiler {
  wrap: (source: string) => string;
  prototype: { _compile: (this: { exports: unknown }, source: string, file: string, format?: string) => unknown };
}

/** Compiled functions by a digest of file name and source. */
type Compiled = Map<string, Buffer>;

/** What a command loads is loaded by then. Later modules are compiled as usual. */
const collectMs = 20_000;
/** Entries of sources that have changed are never removed one by one; a larger file begins anew. A new one takes 6 MiB. */
const maxBytes = 16 * 2 ** 20;
/** Each version of Node and each installation has a file. */
const maxFiles = 8;

/**
 * Keeps in `folder` what V8 compiles for this process, and takes it from there in the next: a command loads some 500 modules, and
 * compiling them takes a fifth of its start. Node has it built in from 22.1 on. Without a writable folder nothing is kept.
 */
export function keepCompiledCode(folder: string): void {
  const { enableCompileCache } = Module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache) enableCompileCache(path.join(folder, 'compiled'));
  else {
    // Compiled code keeps the path of its source.
    const installation = digestOf(Buffer.from(__dirname)).toString('hex', 0, 4);
    compileWith(path.join(folder, `compiled-${process.version}-${cachedDataVersionTag()}-${installation}`));
  }
}

function compileWith(file: string): void {
  const { prototype, wrap } = Module as unknown as Compiler;
  const compile = prototype._compile;
  const kept = read(file);
  const added = new Map<string, Script>();
  prototype._compile = function (source, name, format) {
    // A kept script can't call `import()`.
    const script = source.includes('import(') || format === 'module' ? undefined : scriptOf(source, name);
    if (!script) return compile.call(this, source, name, format);
    const run = script.runInThisContext() as (...scope: unknown[]) => unknown;
    return run.call(this.exports, this.exports, createRequire(name), this, name, path.dirname(name));
  };

  function scriptOf(source: string, filename: string): Script | undefined {
    const key = createHash('sha1').update(filename).update('\0').update(source).digest('base64');
    const cachedData = kept.get(key);
    try {
      const script = new Script(wrap(source), { filename, cachedData });
      if (script.cachedDataRejected !== false) added.set(key, script);
      return script;
    } catch {
      // An ES module, or a mistake that Node explains better.
      return undefined;
    }
  }

  function save(): void {
    clearTimeout(timer);
    process.off('exit', save);
    prototype._compile = compile;
    kept.clear();
    if (added.size > 0) write(file, added);
    added.clear();
  }
  const timer = setTimeout(save, collectMs).unref();
  process.once('exit', save);
}

function read(file: string): Compiled {
  try {
    const bytes = readFileSync(file);
    const content = bytes.subarray(digestBytes);
    // V8 runs what it is given, and would crash.
    if (digestOf(content).equals(bytes.subarray(0, digestBytes))) return deserialize(content) as Compiled;
  } catch {
    // None yet.
  }
  return new Map();
}

const digestBytes = 20;

function digestOf(content: Buffer): Buffer {
  return createHash('sha1').update(content).digest();
}

/** Adds to what other processes have written meanwhile. */
function write(file: string, added: ReadonlyMap<string, Script>): void {
  const all = read(file);
  let bytes = 0;
  for (const { length } of all.values()) bytes += length;
  if (bytes > maxBytes) all.clear();
  for (const [key, script] of added) all.set(key, script.createCachedData());
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const content = serialize(all);
    writeFileSync(draft, Buffer.concat([digestOf(content), content]), { mode: 0o600 });
    renameSync(draft, file);
    removeOldest(path.dirname(file));
  } catch {
    // No room, or no folder to write to: the next command compiles again.
    if (existsSync(draft)) rmSync(draft);
  }
}

function removeOldest(folder: string): void {
  const files = readdirSync(folder).filter((name) => name.startsWith('compiled-'));
  const byAge = files.map((name) => path.join(folder, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const old of byAge.slice(maxFiles)) rmSync(old, { force: true });
}
