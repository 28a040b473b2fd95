import { parametersKey, problemOfParameters, readParameter, readParameters } from '../../src/job/parameters';

it.each([
  ['dpi=300', { dpi: 300 }],
  ['margin=2.5', { margin: 2.5 }],
  ['flatten=true', { flatten: true }],
  ['page_size=a5', { page_size: 'a5' }],
  ['pages="2"', { pages: '2' }],
  ['pages=1,3-5', { pages: '1,3-5' }],
  ['code=007', { code: '007' }],
  ['title=a=b "c"', { title: 'a=b "c"' }],
  ['dpi', undefined],
  ['dpi=', undefined],
  ['=300', undefined],
])('%s is read as %j', (text, parameters) => expect(readParameter(text)).toEqual(parameters));

it('one text can hold several, separated by spaces, with quotes around values with spaces', () => {
  expect(readParameters(' dpi=300  title="a b" ')).toEqual({ dpi: 300, title: 'a b' });
  expect([readParameters(''), readParameters('dpi=300 a5')]).toEqual([{}, undefined]);
});

it('the order of parameters makes no difference, the type of a value does, and an empty set means none', () => {
  expect(parametersKey({ dpi: 300, pages: '2' })).toBe(parametersKey({ pages: '2', dpi: 300 }));
  expect(parametersKey({ pages: '2' })).not.toBe(parametersKey({ pages: 2 }));
  expect(parametersKey({})).toBe(parametersKey(undefined));
});

it.each([
  ['a text', 'dpi=300'],
  ['a list', ['dpi']],
  ['a name with a space', { 'page size': 'a5' }],
  ['the output', { output: 'pdf' }],
  ['the input format', { input: 'md' }],
  ['an object as a value', { size: { width: 5 } }],
  ['a number that is none', { dpi: Number.NaN }],
  ['a text without end', { title: 'x'.repeat(1_001) }],
  ['too many', Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`p${index}`, index]))],
])('rejects %s', (_title, parameters) => expect(problemOfParameters(parameters)).toEqual(expect.any(String)));

it('a rejection never repeats a value, which may be a password', () =>
  expect(problemOfParameters({ password: ['geheim'] })).not.toContain('geheim'));
