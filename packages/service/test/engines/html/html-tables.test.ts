import { withWholeTables } from '../../../src/engines/html/html-tables';

/** HTML tables whose cells pandoc would cut off, or which it would not recognize. */

it.each([
  // Written like this by Excel and DocBook.
  ['<col span=2><tr><td>a</td><td>b</td></tr>', '<col span=2><col /><tr><td>a</td><td>b</td></tr>'],
  [
    '<colgroup><col width="9"></colgroup><tr><td colspan="2">a</td><td>b</td></tr>',
    '<colgroup><col width="9"><col /><col /></colgroup><tr><td colspan="2">a</td><td>b</td></tr>',
  ],
  [
    '<col><tr><td rowspan="2">a</td></tr><tr><td>b</td></tr>',
    '<col><col /><tr><td rowspan="2">a</td><td></td></tr><tr><td>b</td></tr>',
  ],
  [
    '<tr><td>a</td><td rowspan=0>b</td></tr><tr><td>c</td><td>d</td></tr>',
    '<tr><td>a</td><td rowspan=0>b</td><td></td></tr><tr><td>c</td><td>d</td></tr>',
  ],
  ['<tr><td rowspan=2>a<tr><td>b', '<tr><td rowspan=2>a</td><td></td></tr><tr><td>b</td></tr>'],
  ['<tr><th>a<th>b<tr><td>c', '<tr><th>a</th><th>b</th></tr><tr><td>c</td></tr>'],
  ['<tbody><tr><td>a</tr><tbody><tr><td>b', '<tbody><tr><td>a</td></tr><tbody><tr><td>b</td></tr>'],
  [
    '<TR><TD>a<table><tr><td>b<td>c</table><TD>d',
    '<TR><TD>a<table><tr><td>b</td><td>c</td></tr></table></td><TD>d</td></tr>',
  ],
])('%s', (rows, whole) => expect(withWholeTables(`<table>${rows}</table>`)).toBe(`<table>${whole}</table>`));

it.each([
  '<table><col><col><tr><td title="<td>">a</td><td>b</td></tr></table>',
  '<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>',
  '<table><tr><td rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr></table>',
  '<table><tbody><tr><td rowspan="2">a</td></tr></tbody><tbody><tr><td>b</td></tr></tbody></table>',
  '<table><!-- <tr><td> --><tr><td>a<script>"<tr><td>"</script></td></tr></table>',
  '<td>a<td>b',
])('%s stays unchanged', (html) => expect(withWholeTables(html)).toBe(html));
