import { createColors } from 'picocolors';
import { clearScreenDown, moveCursor } from 'node:readline';
import type { WriteStream } from 'node:tty';

/** Where a command writes, and how: results to stdout, everything else to stderr. */
export interface Output {
  readonly json: boolean;
  readonly colors: ReturnType<typeof createColors>;
  /** A result: what `command > file` keeps. */
  print(text: string): void;
  /** The one JSON document of `--json`. */
  printJson(value: unknown): void;
  /** News for a person; silent with `--json`. */
  say(text: string): void;
  warn(text: string): void;
  fail(text: string): void;
  /** Replaces the lines that the last call showed; only on a terminal. */
  live(lines: readonly string[]): void;
  readonly isLive: boolean;
}

export interface OutputOptions {
  json: boolean;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;
  /** `NO_COLOR` is set: https://no-color.org */
  noColor: boolean;
}

export function createOutput(options: OutputOptions): Output {
  const { stdout, stderr } = options;
  const isTerminal = stderr.isTTY === true;
  const isLive = isTerminal && !options.json;
  const colors = createColors(isTerminal && !options.noColor);
  let shown = 0;

  function clear(): void {
    if (shown === 0) return;
    moveCursor(stderr, 0, -shown);
    clearScreenDown(stderr);
    shown = 0;
  }
  function line(text: string): void {
    clear();
    stderr.write(`${text}\n`);
  }
  return {
    json: options.json,
    colors,
    isLive,
    print(text) {
      clear();
      stdout.write(`${text}\n`);
    },
    printJson(value) {
      clear();
      stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
    },
    say(text) {
      if (!options.json) line(text);
    },
    warn: (text) => line(`${colors.yellow('warning:')} ${text}`),
    fail: (text) => line(`${colors.red('error:')} ${text}`),
    live(lines) {
      if (!isLive) return;
      clear();
      const width = (stderr.columns ?? 80) - 1;
      for (const text of lines) stderr.write(`${text.slice(0, width)}\n`);
      shown = lines.length;
    },
  };
}
