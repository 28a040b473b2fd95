import { withOpenSigns } from '../../../src/engines/office/sign-fonts';

const style = (name: string, rest: string) =>
  `<style:style style:family="text" style:name="${name}" ${rest}</style:style>`;
const face = (name: string, family: string) => `<style:font-face style:name="${name}" svg:font-family="${family}"/>`;
const faces = face('S1', 'Symbol') + face('W', 'Wingdings') + face('L', '&apos;Liberation Sans&apos;');
const font = (name: string) => `><style:text-properties style:font-name="${name}"/>`;
const styles = style('Greek', font('S1')) + style('T2', font('W')) + style('T3', font('L'));
const own = style('T1', 'style:parent-style-name="Greek">') + style('T4', 'style:parent-style-name="T4">');

it.each([
  ['of a style by its parent', '<text:span text:style-name="T1">\uf061&lt;\uf0a5\uf062</text:span>', 'α&lt;∞β'],
  ['of another', '<text:span text:style-name="T2">\uf0fe</text:span>', '🗹'],
  [
    'around a span that says nothing',
    '<text:p text:style-name="T1"><text:span>\uf067</text:span><text:tab text:tab-ref="1"/>\uf071</text:p>',
    'γθ',
  ],
  [
    'no more within another font',
    '<text:p text:style-name="T1"><text:span text:style-name="T3">a\uf061</text:span></text:p>',
    'a\uf061',
  ],
  [
    'never of a style that is based on itself',
    '<text:p text:style-name="T4">\uf061<text:tab/></text:p>\uf061',
    '\uf061\uf061',
  ],
])('maps characters of symbol fonts in an OpenDocument text, %s', (_which, text, expected) => {
  const content = `${faces}${own}<office:text>${text}</office:text>`;
  const [, shown = ''] = /<office:text>(.*)</.exec(withOpenSigns(content, styles)) ?? [];
  expect(shown.replace(/<[^<>]*>/g, '')).toBe(expected);
  expect(shown.match(/<[^<>]*>/g)).toEqual(text.match(/<[^<>]*>/g));
});
