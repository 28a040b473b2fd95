import type { WriteStream } from 'node:tty';
import { createColors } from 'picocolors';
import { printable, printableJson } from 'temporal-file-conversion/messages';
import { fit, printableColored, printableLines } from './text';

/** Where a command writes, and how: results to stdout, everything else to stderr. */
export interface Output {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly colors: ReturnType<typeof createColors>;
  /** Prints a result, which `command > file` keeps. */
  print(text: string): void;
  printJson(value: unknown): void;
  /** Prints a command's final result: the document of `--json`, or the text for a person. */
  result(value: unknown, text: string): void;
  /** News for a person; silent with `--json`. */
  say(text: string): void;
  warn(text: string): void;
  fail(text: string): void;
  /** Replaces the lines of the last call; only on a terminal. */
  live(lines: readonly string[]): void;
  readonly isLive: boolean;
  readonly columns: number;
}

/** `process.stdout` or `process.stderr`, or a test's replacement. */
export type OutputStream = Pick<NodeJS.WritableStream, 'write'> &
  Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/** Erases the `^C` that the terminal echoes before the cursor, even if it comes while a command ends. */
export const eraseEcho = '\r  \r';

interface OutputOptions {
  json: boolean;
  quiet?: boolean;
  verbose?: boolean;
  stdout: OutputStream;
  stderr: OutputStream;
  env: Readonly<Record<string, string | undefined>>;
}

export function createOutput({ json, quiet = false, verbose = false, stdout, stderr, env }: OutputOptions): Output {
  const isDumb = env['TERM'] === 'dumb';
  const mayColor = !env['NO_COLOR'] && !isDumb;
  const isLive = stderr.isTTY === true && !isDumb && !json && !quiet;
  const colors = createColors(stdout.isTTY === true && mayColor);
  const stderrColors = createColors(stderr.isTTY === true && mayColor);
  let shown: readonly string[] = [];

  /** Removes the live lines; must precede any other text. */
  function clearing(): string {
    const up = shown.length;
    shown = [];
    const overEcho = stderr.isTTY === true ? eraseEcho : '';
    return up === 0 ? overEcho : `\r\u001b[${up}A\u001b[J`;
  }
  function columns(): number {
    return sizeOr(80, stderr.columns) - 1;
  }
  function note(text: string): void {
    stderr.write(`${clearing()}${text}\n`);
  }
  function print(text: string): void {
    if (!quiet) write(printableColored(text));
  }
  function write(text: string): void {
    const before = clearing();
    // On a terminal in one write, so that the echo of Ctrl-C can't come in between.
    if (before !== '' && stdout.isTTY !== true) stderr.write(before);
    stdout.write(`${stdout.isTTY === true ? before : ''}${text}\n`);
  }
  function printJson(value: unknown): void {
    write(printableJson(JSON.stringify(value, undefined, 2)));
  }
  return {
    json,
    quiet,
    verbose,
    colors,
    isLive,
    get columns() {
      return columns();
    },
    print,
    printJson,
    result(value, text) {
      if (json) printJson(value);
      else print(text);
    },
    say(text) {
      if (!json && !quiet) note(printableLines(text));
    },
    warn: (text) => note(`${stderrColors.yellow('warning:')} ${printableLines(text)}`),
    fail: (text) => note(`${stderrColors.red('error:')} ${printableLines(text)}`),
    live(lines) {
      if (!isLive) return;
      // Lines beyond the terminal's height could not be erased.
      const wanted = lines
        .slice(0, Math.max(1, sizeOr(24, stderr.rows) - 1))
        .map((line) => fit(printable(line), columns()));
      if (wanted.length === shown.length && wanted.every((line, index) => line === shown[index])) return;
      // One write, so that the picture does not flicker.
      stderr.write(clearing() + wanted.map((line) => `${stderrColors.dim(line)}\n`).join(''));
      shown = wanted;
    },
  };
}

/** A pseudo terminal without a size reports 0. */
function sizeOr(fallback: number, reported: number | undefined): number {
  return reported === undefined || reported === 0 ? fallback : reported;
}
