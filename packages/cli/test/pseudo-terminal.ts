import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { commandEnv, mainFile } from './fileconv';
import { childrenOf } from './processes';

/** Whether script(1) of util-linux can open a pseudo-terminal; the script(1) of macOS takes other options. */
export const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

export const columns = 60;
export const escape = '\u001b';

interface Session {
  raw: string;
  code: number | null;
}

/** Opens a terminal of 60 columns with a command; killing the process closes the terminal. */
export function openTerminal(args: string[], { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  const words = [process.execPath, mainFile, ...args].map((word) => `'${word}'`).join(' ');
  return spawn('script', ['-qec', `stty cols ${columns} rows 12; exec ${words}`, '/dev/null'], {
    cwd,
    env: commandEnv({ TERM: 'xterm', ...env }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** True once the command has replaced the shell of the terminal, and after its end. */
export function hasReplacedShell({ pid = 0 }: ChildProcess): boolean {
  try {
    const [command] = childrenOf(pid).keys();
    return command !== undefined && !command.includes('stty cols');
  } catch {
    return true;
  }
}

/** Runs a command on a terminal of 60 columns; types Ctrl-C once the output matches `interrupt`. */
export async function onScreen(
  args: string[],
  { cwd, env, interrupt }: { cwd: string; env: Record<string, string>; interrupt?: RegExp },
): Promise<Session> {
  const child = openTerminal(args, { cwd, env });
  let raw = '';
  let typed = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text;
    if (!interrupt?.test(raw) || typed) return;
    typed = true;
    child.stdin.write('\u0003');
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { raw, code };
}

/** The lines on the screen after this output. It understands only the control sequences of our own output. */
export const screenOf = (raw: string): string[] => drawn(raw).lines.filter((line) => line !== '');

/** The whole line in which the cursor ends up, without trailing spaces. */
export function lineOfCursor(raw: string): string {
  const { lines, row } = drawn(raw);
  return lines[row]?.trimEnd() ?? '';
}

function drawn(raw: string): { lines: string[]; row: number } {
  const lines = [''];
  let [row, column] = [0, 0];
  const pattern = new RegExp(`${escape}\\[(\\d*)([AJm])|\\r|\\n|[^${escape}\\r\\n]+`, 'g');
  for (const [text, count, action] of raw.matchAll(pattern)) {
    const before = (lines[row] ?? '').padEnd(column).slice(0, column);
    if (action === 'A') row = Math.max(0, row - Number(count));
    else if (action === 'J') lines.splice(row, Infinity, before);
    else if (text === '\n') lines[(row += 1)] ??= '';
    else if (text === '\r') column = 0;
    else if (action === undefined) {
      lines[row] = before + text + (lines[row] ?? '').slice(column + text.length);
      column += text.length;
    }
  }
  return { lines, row };
}
