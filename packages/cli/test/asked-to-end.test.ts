import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAskedToEnd } from '../src/process/asked-to-end';
import { runCommandLine } from '../src/program';
import { hostOf, newFolder } from './fileconv';

describe('a process that is asked to end', () => {
  let signals: string[];
  const ask = (...names: string[]) => {
    signals = [];
    const process = Object.assign(new EventEmitter(), { exit: (code: number) => void signals.push(`exit ${code}`) });
    const signal = untilAskedToEnd({ process, stderr: { write: () => true } });
    // A signal without a listener ends a process at once.
    for (const name of names) if (!process.emit(name)) signals.push(`ended by ${name}`);
    expect(signal.aborted).toBe(true);
    return signals;
  };

  it.each([['SIGTERM'], ['SIGHUP']])('ends in order after a second %s, as of two commands `down`', (name) => {
    expect(ask(name, name, name)).toEqual([]);
  });

  it('ends at once after a second Ctrl-C', () => {
    expect(ask('SIGINT')).toEqual([]);
    expect(ask('SIGINT', 'SIGINT')).toEqual(['exit 130']);
  });
});

it.each(['batch run - --to html', 'batch run - --to html --dry-run', 'batch run --manifest - --json'])(
  'Ctrl-C ends `%s`, which still reads standard input',
  async (line) => {
    const { texts, ...host } = hostOf({ cwd: await newFolder() });
    const stdin = new PassThrough();
    stdin.write('a.md\n');
    const ended = runCommandLine(line.split(' '), { ...host, stdin });
    while (stdin.readableLength > 0) await sleep(10);
    host.process.emit('SIGINT');
    expect(await ended).toBe(130);
    expect(texts.stderr).toContain('error: Interrupted before any job was started.\n');
  },
);
