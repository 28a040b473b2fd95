import { openNumbers } from '../../../src/engines/office/open-numbers';

/** Numbers that an office program generates for an OpenDocument text, and that are not stored in the file. */

const numbers = (level: number, more: string, format = '1') =>
  `text:level="${level}" style:num-format="${format}" ${more}/>`;
const listStyle = (name: string, ...levels: string[]) =>
  `<text:list-style style:name="${name}">${levels.map((level) => `<text:list-level-style-number ${level}`).join('')}</text:list-style>`;
const outline = [
  numbers(1, 'style:num-suffix="."'),
  numbers(2, 'style:num-prefix="Art. " text:display-levels="2"'),
  numbers(3, '', ''),
];
const styles = `<text:outline-style>${outline.map((level) => `<text:outline-level-style ${level}`).join('')}</text:outline-style>`;
const ofContent = [
  listStyle('usual', numbers(1, 'style:num-suffix="."'), numbers(2, 'style:num-suffix=")"', 'a')),
  listStyle('law', numbers(1, 'style:num-prefix="&#167; "'), numbers(2, 'text:display-levels="2"')),
  listStyle('fourth', numbers(1, 'text:start-value="4"')),
].join('');
const numbersOf = (body: string) => openNumbers(ofContent + body, styles);
const heading = (level: number, more = '') => `<text:h text:outline-level="${level}"${more}>x</text:h>`;
const item = (inner = '', more = '') => `<text:list-item${more}><text:p>x</text:p>${inner}</text:list-item>`;
const list = (style: string, ...items: string[]) =>
  `<text:list${style && ` text:style-name="${style}"`}>${items.join('')}</text:list>`;

it.each([
  ['of headings', heading(1) + heading(2), ['1.', 'Art. 1.1']],
  ['not of headings without one', heading(3) + heading(1, ' text:is-list-header="true"'), []],
  ['of headings in a list', list('usual', `<text:list-item>${heading(1)}</text:list-item>`), ['1.']],
  ['of lists with more than a number', list('law', item(list('', item())), item()), ['§ 1', '1.1', '§ 1']],
  ['not of lists with a number alone', list('usual', item(list('', item()))) + list('', item()), []],
  ['where a list starts anew', list('usual', item('', ' text:start-value="9"'), item()), ['9.']],
  [
    'not where it starts as its style says',
    '<text:list/>' + list('fourth', item('', ' text:start-value="4"'), item()),
    [],
  ],
])('numbers are lost %s', (_title, body, lost) => expect(numbersOf(body)).toEqual(lost));
