import { buildCommands } from '../src/command-tree';
import { formatNames, pointInTime } from '../src/commands/arguments';
import { createOutput } from '../src/output/output';

async function parse(args: readonly string[]): Promise<string> {
  const stream = { write: () => true };
  const output = createOutput({ env: {}, stdout: stream, stderr: stream, json: false });
  const ran = buildCommands(output, () => Promise.resolve()).parseAsync([...args], { from: 'user' });
  return ran.then(
    () => 'runs',
    (error: unknown) => String(error),
  );
}

it.each([
  [['job', 'show', ''], "argument 'id'"],
  [['job', 'watch', ''], "argument 'id'"],
  [['job', 'cancel', ''], "argument 'id'"],
  [['job', 'retry', ''], "argument 'id'"],
  [['batch', 'status', ''], "argument 'name'"],
  [['batch', 'watch', ''], "argument 'name'"],
  [['batch', 'retry', ''], "argument 'name'"],
  [['batch', 'cancel', ''], "argument 'name'"],
  [['schedule', 'pause', ''], "argument 'name'"],
  [['convert', 'a.md', '', '--to', 'pdf'], "argument 'file'"],
  [['convert', 'a.md', '--to', 'pdf', '--app', ''], "option '--app <name>'"],
  [['job', 'list', '--batch='], "option '--batch <id>'"],
])('%j is a usage error: %s is empty', async (args, what) => {
  expect(await parse(args)).toBe(`CommanderError: error: ${what} is empty`);
  expect(await parse(args.map((each) => each.replace(/^$|=$/, '$&x')))).toBe('runs');
});

it('accepts the default of an option', async () => {
  const schedule = ['schedule', 'create', '--every', '1h', '--from', 'in', '--to', 'pdf', '--out', 'out'];
  expect(await parse([...schedule, '--when-done', 'keep', '--when-failed', 'keep'])).toBe('runs');
});

it.each([
  [['batch', 'run', '--manifest', 'a.csv', '--manifest', 'b.csv']],
  [['batch', 'run', '--to', 'pdf', '--files-from', 'a', '--files-from', 'b']],
  [['schedule', 'create', '--to', 'pdf', '--out', 'out', '--from', 'a', '--from', 'b']],
  [['schedule', 'create', '--out', 'out', '--from', 'a', '--to', 'pdf', '--to', 'html']],
])('%j is a usage error: one of the two values would be lost', async (args) => {
  expect(await parse(args)).toContain('It is given twice.');
});

it('accepts several formats, also in repeated options', () =>
  expect(formatNames('html,pdf', formatNames('pdf,docx'))).toEqual(['pdf', 'docx', 'html']));

it.each(['1e3', '0x10', '0b11', '1.0', '+5', ' 5', '9007199254740991', '-1'])(
  'does not accept %j as a whole number',
  async (text) => {
    expect(await parse(['service', 'credits', 'add', 'main', '--', text])).toContain(
      'It must be a whole number, 0 or more.',
    );
    expect(await parse(['service', 'credits', 'add', 'main', '--', '5'])).toBe('runs');
  },
);

it('starts "today" at midnight UTC, like the times in the tables', () => {
  const before = new Date().toISOString().slice(0, 10);
  const today = pointInTime('today').toISOString();
  expect([`${before}T00:00:00.000Z`, `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`]).toContain(today);
});
