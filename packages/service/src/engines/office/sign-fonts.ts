import { valueOfStyle, stylesOf } from './open-styles';
import { attributeOf, decodeXml } from '../xml';

/** Symbol fonts, with the Unicode characters that they show from the blank on; a blank if there is none. */
const signs: Readonly<Record<string, readonly string[]>> = {
  Symbol: Array.from(
    ' !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼ ' +
      '                                €ϒ′≤∕∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑           〉∫⌠ ⌡',
  ),
  Wingdings: Array.from(
    ' 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭📁📂📄🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌👌👍👎☜☞☝☟🖐☺😐☹💣☠🏳🏱✈☼💧❄🕆✞🕈✠✡☪☯ॐ☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵●🔾■□🞐❑❒⬧⧫◆❖⬥⌧⮹⌘🏵🏶🙶🙷 ⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷' +
      '❸❹❺❻❼❽❾❿🙢🙠🙡🙣🙞🙜🙝🙟·• ⚪🞆🞈◉◎🔿▪◻🟂✦★✶✴✹✵⯐⌖⟡⌑⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋🡨🡪🡩🡫🡬🡭🡯🡮🡸🡺🡹🡻🡼🡽🡿🡾⇦⇨⇧⇩⬄⇳⬀⬁⬃⬂🢬🢭🗶✔🗷🗹',
  ),
};

/** Text as it reads in a font, whose letters may be at their own places or from U+F020 on. */
export function readInFont(text: string, font: string | undefined): string {
  const table = signs[font ?? ''];
  if (!table) return text;
  return text.replace(/[\u0021-\u00ff\uf021-\uf0ff]/g, (letter) => {
    const sign = table[(letter.charCodeAt(0) & 0xff) - 0x20] ?? ' ';
    return sign === ' ' ? letter : sign;
  });
}

const piece = /<(\/?)text:(?:p|h|span)(?=[\s>])[^<>]*(?<!\/)>|[\uf020-\uf0ff]+/g;

/** The content of an OpenDocument text with the letters of such fonts replaced; `more` holds its other styles. */
export function withOpenSigns(content: string, more: string): string {
  if (!/[\uf020-\uf0ff]/.test(content)) return content;
  const xml = `${more}${content}`;
  const families = new Map(
    Array.from(xml.matchAll(/<style:font-face\s[^<>]*>/g), ([face]) => [
      attributeOf(face, 'style:name'),
      decodeXml(attributeOf(face, 'svg:font-family') ?? '').replaceAll("'", ''),
    ]),
  );
  const styles = stylesOf(xml, ['paragraph', 'text']);
  const fontOf = (style: string | undefined) =>
    valueOfStyle(styles, style, ({ inside }) => {
      return families.get(attributeOf(inside, 'style:font-name')) ?? attributeOf(inside, 'fo:font-family');
    });
  const fonts: (string | undefined)[] = [];
  return content.replace(piece, (found, closing: string | undefined) => {
    if (closing === undefined) return readInFont(found, fonts.at(-1));
    if (closing !== '') fonts.pop();
    else fonts.push(fontOf(attributeOf(found, 'text:style-name')) ?? fonts.at(-1));
    return found;
  });
}
