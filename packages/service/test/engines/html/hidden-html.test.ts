import { withoutHiddenElements } from '../../../src/engines/html/hidden-html';

/** Elements that no browser shows. */

const page = (body: string, css = '') => `<style>${css}</style><p>Shown</p>${body}`;

it.each([
  ['<div style="color: red; DISPLAY : none !important">a<div>b</div></div>c', 'c'],
  ['<p hidden>a<p>b', '<p>b'],
  ['<ul><li hidden>a<li>b</ul>c', '<ul><li>b</ul>c'],
  ['<table><tr><td hidden>a<td>b<tr hidden><td>c</table>d', '<table><tr><td>b</table>d'],
  ['<img src=a.gif style="display:none"><br hidden>a', 'a'],
  [
    '<template>a</template><dialog>b</dialog><datalist><option>c</datalist><dialog open>d</dialog>',
    '<dialog open>d</dialog>',
  ],
  ['<span hidden>a<span hidden>b</span></span></i>c', '</i>c'],
  ['<!-- <p hidden> --><textarea><p hidden></textarea>a', '<!-- <p hidden> --><textarea><p hidden></textarea>a'],
  ['<p hidden="until-found">a</p>', '<p hidden="until-found">a</p>'],
  ['<p data-a="<p hidden>">a</p>', '<p data-a="<p hidden>">a</p>'],
])('%s leaves %s', (body, left) => expect(withoutHiddenElements(page(body)).html).toBe(page(left)));

it.each([
  ['.a{display:none}', true],
  ['/* } */ .b , #i { color:red; display:none }', true],
  ['p.a{display:block} p.a{display:none}', true],
  ['p{display:block} .a{display:none}', true],
  ['.a{display:none!important} p.a{display:block}', true],
  ['.b .a{display:none}', false],
  ['.a{display:none} .a{display:block}', false],
  ['.a{display:none} #i{display:flex}', false],
  ['.a{display:none} .a:hover{display:block}', false],
  ['.a{display:none} :checked ~ .a{display:block}', false],
  ['.a{display:none} .a.open{display:block}', false],
  ['.a{display:none} .a::after{display:block}', true],
  ['.a{display:none} @media print { b{c:d} .a{display:block} }', false],
  ['@media print { b{c:d} .a{display:none} }', false],
  ['.a{visibility:hidden}', false],
  ['.aa{display:none}', false],
])('%s hides an element of the class: %s', (css, isHidden) => {
  const { html, hidden } = withoutHiddenElements(page('<p class="x a" id=i>Gone</p>', css));
  expect(html).toBe(page(isHidden ? '' : '<p class="x a" id=i>Gone</p>', css));
  expect(hidden.trim()).toBe(isHidden ? 'Gone' : '');
});

it('keeps a page that would have no text otherwise, because a script may show it', () => {
  const html = '<title>Title</title><body style="display:none"><div style="display:none">a</div>';
  expect(withoutHiddenElements(html)).toEqual({ html, hidden: '' });
});

it('ignores a style for another medium', () => {
  const html = '<style media="print">p{display:none}</style><p>a</p>b';
  expect(withoutHiddenElements(html).html).toBe(html);
});
