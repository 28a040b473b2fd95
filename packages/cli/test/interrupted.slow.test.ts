import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/support/until';
import { newFolder } from './fileconv';
import { linesToInterrupt as lines } from './lines-of-commands';
import { escape, hasReplacedShell, hasScript, lineOfCursor, openTerminal, screenOf } from './pseudo-terminal';
import { stackOfAllTests } from './running-stack';
import { noisyPng } from './samples';

/** Ctrl-C at any moment leaves the terminal as it was. */

const onTerminal = hasScript ? describe : describe.skip;
jest.setTimeout(600_000);

onTerminal('Ctrl-C on a terminal of 60 columns', () => {
  const stack = stackOfAllTests({ FILECONV_POLICIES_FIRST_CHECK_AFTER: '5 seconds' });
  let cwd: string;
  beforeAll(async () => {
    cwd = await newFolder();
    await mkdir(path.join(cwd, 'many'));
    await writeFile(path.join(cwd, 'one.png'), noisyPng(8));
    for (let n = 0; n < 20; n += 1) await writeFile(path.join(cwd, `many/${n}.png`), noisyPng(8));
  });

  /** Commands that ended on their own before a delay; with a longer delay they would too. */
  const over = new Set<string>();

  // The delays hit the start of Node, the loading, the first request and the output.
  it.each([30, 300, 700, 1_200, 2_500])('leaves no half line after %i ms', async (delayMs) => {
    const left: string[] = [];
    // While Node starts, all commands behave the same.
    const waiting = delayMs < 100 ? lines.slice(0, 5) : lines.filter((line) => !over.has(line));
    expect(waiting).not.toEqual([]);
    const takeTurns = async () => {
      for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
        const { raw, code, wasOver } = await interrupted(line.split(' '), delayMs);
        if (wasOver) over.add(line);
        for (const wrong of wrongs(raw, code)) left.push(`${line}: ${wrong}`);
      }
    };
    await Promise.all([takeTurns(), takeTurns()]);
    expect(left).toEqual([]);
  });

  async function interrupted(args: string[], delayMs: number) {
    const child = openTerminal(args, { cwd, env: stack.env });
    let raw = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (raw += text));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    // A command that is just ending reads no more input.
    child.stdin.on('error', () => undefined);
    await Promise.race([sleep(delayMs), ended]);
    // Before that, Ctrl-C would interrupt the shell, which might still start the command.
    await until('the command is there', () => hasReplacedShell(child));
    const wasOver = child.exitCode !== null;
    if (!wasOver) child.stdin.write('\u0003');
    const code = await ended;
    return { raw, code, wasOver };
  }
});

/** Problems in the state of the terminal after a command. */
function wrongs(raw: string, code: number | null): string[] {
  const text = raw.replace(/\^C$/, '');
  const found: string[] = [];
  // The echo may still be there, or be erased.
  if (!['', '^C'].includes(lineOfCursor(raw))) found.push(`half a line: ${JSON.stringify(raw.slice(-80))}`);
  if (text.lastIndexOf(`${escape}[?25l`) > text.lastIndexOf(`${escape}[?25h`)) found.push('the cursor is hidden');
  if (/\n\s+at .*[(:]/.test(text)) found.push(`a stack trace: ${text}`);
  const unknown = new RegExp(`${escape}(?!\\[\\d*[AJm])`).exec(text);
  if (unknown) found.push(`a control sequence that is left on: ${JSON.stringify(text)}`);
  const glued = screenOf(raw).filter((line) => line.includes('^C') && line !== '^C');
  if (glued.length > 0) found.push(`text beside the echo: ${JSON.stringify(glued)}`);
  if (code === null) found.push('ended by nothing');
  return found;
}
