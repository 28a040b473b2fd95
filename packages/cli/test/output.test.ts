import { createOutput, eraseEcho, type Output, type OutputStream } from '../src/output/output';
import { formatTable } from '../src/output/text';
import { screenOf } from './pseudo-terminal';

function stream(terminal: Partial<OutputStream> = {}) {
  const written: string[] = [];
  return {
    ...terminal,
    written,
    text: () => written.join(''),
    write(text: string | Uint8Array) {
      written.push(String(text));
      return true;
    },
  };
}

const terminal = { isTTY: true, columns: 20, rows: 5 } as const;
const escape = '\u001b';

describe('on a terminal', () => {
  it('replaces the live lines in one write, and only if they changed', () => {
    const stderr = stream(terminal);
    const output = createOutput({ json: false, stdout: stream(terminal), stderr, env: {} });
    output.live(['one', 'two']);
    output.live(['one', 'two']);
    output.live(['three']);
    expect(stderr.written).toHaveLength(2);
    expect(stderr.written[1]).toMatch(new RegExp(`^\\r${escape}\\[2A${escape}\\[J.*three`));
  });

  it('leaves no remains of a live line behind the echo of Ctrl-C', () => {
    const stderr = stream(terminal);
    const output = createOutput({ json: false, stdout: stream(terminal), stderr, env: { NO_COLOR: '1' } });
    output.live(['[██░░] 1 of 2']);
    stderr.write('^C');
    output.say('bye');
    expect(screenOf(stderr.text())).toEqual(['bye']);
  });

  it('overwrites the echo of a Ctrl-C that came while the command ended', () => {
    const screenAfter = (write: (output: Output) => void) => {
      const screen = stream(terminal);
      screen.write('^C');
      write(createOutput({ json: false, stdout: screen, stderr: screen, env: { NO_COLOR: '1' } }));
      return screenOf(screen.text()).map((line) => line.trimEnd());
    };
    expect(screenAfter((output) => output.fail('no'))).toEqual(['error: no']);
    expect(screenAfter((output) => output.print('5'))).toEqual(['5']);
  });

  it('erases the live lines before writing anything else', () => {
    const stderr = stream(terminal);
    const stdout = stream(terminal);
    const output = createOutput({ json: false, stdout, stderr, env: {} });
    output.live(['one']);
    output.print('done');
    output.say('bye');
    expect(stdout.written).toEqual([`\r${escape}[1A${escape}[Jdone\n`]);
    expect(stderr.written.slice(1)).toEqual([`${eraseEcho}bye\n`]);
  });

  it('erases them also when results go to a file', () => {
    const stderr = stream(terminal);
    const stdout = stream();
    const output = createOutput({ json: false, stdout, stderr, env: {} });
    output.live(['one']);
    output.print('done');
    expect([stderr.written.slice(1), stdout.text()]).toEqual([[`\r${escape}[1A${escape}[J`], 'done\n']);
  });

  it('shows only what fits, because a wrapped line could not be erased', () => {
    const stderr = stream(terminal);
    const output = createOutput({ json: false, stdout: stream(), stderr, env: { NO_COLOR: '1' } });
    output.live(Array.from({ length: 9 }, (_, index) => `${index} ${'x'.repeat(40)}`));
    const lines = stderr.text().replace(eraseEcho, '').trimEnd().split('\n');
    expect([lines.length, Math.max(...lines.map((line) => line.length))]).toEqual([4, 19]);
  });

  it('colours messages', () => {
    const stderr = stream(terminal);
    createOutput({ json: false, stdout: stream(), stderr, env: {} }).fail('no');
    expect(stderr.text()).toBe(`${eraseEcho}${escape}[31merror:${escape}[39m no\n`);
  });

  it.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])('respects %j', (env) => {
    const stderr = stream(terminal);
    createOutput({ json: false, stdout: stream(), stderr, env }).fail('no');
    expect(stderr.text()).toBe(`${eraseEcho}error: no\n`);
  });

  it('does not colour results that go to a file', () => {
    const stdout = stream();
    const output = createOutput({ json: false, stdout, stderr: stream(terminal), env: {} });
    output.print(output.colors.dim('[1/2]'));
    expect(stdout.text()).toBe('[1/2]\n');
  });
});

describe('without a terminal', () => {
  it.each([{}, { isTTY: true, json: true }, { isTTY: true, TERM: 'dumb' }])('has no live lines: %j', (given) => {
    const { isTTY = false, json = false, TERM } = given as { isTTY?: boolean; json?: boolean; TERM?: string };
    const stderr = stream({ isTTY });
    const output = createOutput({ json, stdout: stream(), stderr, env: { TERM } });
    output.live(['one']);
    expect([output.isLive, stderr.text()]).toEqual([false, '']);
  });

  it('prints only warnings and errors with --json', () => {
    const stderr = stream();
    const output = createOutput({ json: true, stdout: stream(), stderr, env: {} });
    output.say('news');
    output.warn('careful');
    output.fail('no');
    expect(stderr.text()).toBe('warning: careful\nerror: no\n');
  });
});

describe('names and messages from outside', () => {
  const hostile = 'a\u202efdp.exe\u200f\u2028\u009b31m\u0007';
  it('are printed with control characters escaped', () => {
    const [stdout, stderr] = [stream(terminal), stream({ ...terminal, columns: 200 })];
    const output = createOutput({ json: false, stdout, stderr, env: {} });
    output.print(`${output.colors.green('ok')} ${hostile}\n${formatTable(['CODE'], [[hostile]])}`);
    output.say(hostile);
    output.warn(hostile);
    output.fail(hostile);
    output.live([hostile]);
    const shown = 'a\\u202efdp.exe\\u200f\\u2028\\x9b31m\\x07';
    expect(stdout.text()).toContain(`${escape}[32mok${escape}[39m ${shown}\nCODE\n${shown}\n`);
    expect(stderr.text().split(shown)).toHaveLength(5);
    expect(stdout.text() + stderr.text()).not.toMatch(/[\p{Cf}\u0080-\u009f\u2028]/u);
  });

  it('are kept in JSON, which has its own escapes', () => {
    const stdout = stream(terminal);
    createOutput({ json: true, stdout, stderr: stream(), env: {} }).printJson({ [hostile]: hostile });
    expect(JSON.parse(stdout.text())).toEqual({ [hostile]: hostile });
    expect(stdout.text()).not.toMatch(/[\p{Cf}\u0080-\u009f\u2028]/u);
  });
});
