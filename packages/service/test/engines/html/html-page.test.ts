import { withoutHiddenElements } from '../../../src/engines/html/hidden-html';
import { describeGenerated, readablePage } from '../../../src/engines/html/html-page';

it.each([
  ['<input value="Jane Customer">', 'Jane Customer'],
  [`<INPUT readonly VALUE='a "b" &amp; <c>' type=TEXT/>`, 'a "b" &amp; &lt;c>'],
  ['<input name=a value=PO-4711>', 'PO-4711'],
  ['<input data-value="no">', ''],
  ['<textarea rows=2>Deliver on <Monday></textarea>', 'Deliver on &lt;Monday>'],
  ['<select><option>a<option value=1 selected>b &amp; c</select>', 'b &amp; c'],
  ['<select><option>first</option><option>second</option></select>', 'first'],
  ['<select multiple><option>a<option selected>b<option selected>c</select>', 'b, c'],
  ['<input type="checkbox" checked> <input type=radio>', '\u2612 \u2610'],
  ['<input type=checkbox name="checked">', '\u2610'],
  ['<input type="submit" value="Send">', 'Send'],
  ['<main id=a>b</main>', '<div id=a>b</div>'],
  ['<div role="main" id=a>b</div>', '<div id=a>b</div>'],
  ['<img alt="a" data-src="a.png">', '<img alt="a" src="a.png">'],
  ['<img src="a.png" data-src="b.png">', '<img src="a.png" data-src="b.png">'],
  [`<MAIN class=a role='main'/>`, '<div class=a/>'],
  [
    '<iframe srcdoc="&lt;head>&lt;title>a&lt;/title>&lt;/head>&lt;body>&lt;main>&amp;lt;b&lt;/main>"></iframe>',
    '<div><div>&lt;b</div></div></iframe>',
  ],
])('%s is read as %s', (html, text) => expect(readablePage(`<p>${html}</p>`)).toBe(`<p>${text}</p>`));

it.each([
  '<input type=hidden value=token>',
  '<input type="password" value="secret">',
  '<input type=image value=Send>',
  '<iframe src="other.html"></iframe>',
  '<div role="maintenance"><mainly></mainly></div>',
  '<!-- <main role="main"> -->',
  '<!-- <input value=a> -->',
  '<script>const a = "<input value=a>";</script>',
])('%s stays unchanged', (html) => expect(readablePage(html)).toBe(html));

it.each([
  ['.req::after{content:" required"}', 1],
  ['p.req:after , h2::before { color: red; content: "Chapter " counter(c) }', 1],
  ['p::before{content:attr(title)}', 1],
  ['.other::after{content:"a"}', 0],
  ['.req::after{content:"";display:block}', 0],
  ['.req::before{content:"\\f101"}', 0],
  ['.req::before{content:open-quote}', 0],
  ['@media print { a{b:c} p::after{content:attr(href)} }', 0],
  ['/* .req::after{content:"a"} */ p{content:"a"}', 0],
])('%s adds text to a page: %i', (css, rules) => {
  const { GENERATED_TEXT_LOST: message = '0' } = describeGenerated(`<style>${css}</style><p class="a req">b</p>`);
  expect(message).toContain(rules === 0 ? '0' : `${rules} rule(s)`);
});

it.each([
  ...['<script', '<script>', '<!--', '<select', '<select>', '<input "', '<a role=main ', '<img ', '<td ', '<table>'],
  ...['<style>', '<style>@media', '<style>/*', '<style>a::before{content:"a"}', '<p hidden>', '<b></i>'],
])('repeated %s takes linear time', (start) => {
  const html = start.repeat(300_000 / start.length);
  const began = performance.now();
  readablePage(html);
  describeGenerated(html);
  withoutHiddenElements(html);
  expect(performance.now() - began).toBeLessThan(2_500);
});
