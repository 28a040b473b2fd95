import { attributeOf, decodeXml } from './xml';

/** Fonts whose letters are other signs, and what Unicode has for these from the blank on; a blank where it has nothing. */
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

/** Text in a font, as it is read there: its letters may be written at their places, or from U+F020 on. */
export function readInFont(text: string, font: string | undefined): string {
  const table = signs[font ?? ''];
  if (!table) return text;
  return text.replace(/[\u0021-\u00ff\uf021-\uf0ff]/g, (letter) => {
    const sign = table[(letter.charCodeAt(0) & 0xff) - 0x20] ?? ' ';
    return sign === ' ' ? letter : sign;
  });
}

const piece = /<(\/?)text:(?:p|h|span)(?=[\s>])[^<>]*(?<!\/)>|[\uf020-\uf0ff]+/g;

/** The content of an OpenDocument text with these signs as they are read; `styles`: its other styles. */
export function withOpenSigns(content: string, styles: string): string {
  if (!/[\uf020-\uf0ff]/.test(content)) return content;
  const fontOf = fontsOfStyles(`${styles}${content}`);
  const fonts: (string | undefined)[] = [];
  return content.replace(piece, (found, closing: string | undefined) => {
    if (closing === undefined) return readInFont(found, fonts.at(-1));
    if (closing !== '') fonts.pop();
    else fonts.push(fontOf(attributeOf(found, 'text:style-name')) ?? fonts.at(-1));
    return found;
  });
}

function fontsOfStyles(xml: string): (style: string | undefined) => string | undefined {
  const faces = new Map<string | undefined, string | undefined>();
  for (const [face] of xml.matchAll(/<style:font-face\s[^<>]*>/g)) {
    const family = decodeXml(attributeOf(face, 'svg:font-family') ?? '').replaceAll("'", '');
    faces.set(attributeOf(face, 'style:name'), family);
  }
  const styles = new Map<string | undefined, { font: string | undefined; parent: string | undefined }>();
  for (const [, start = '', properties = ''] of xml.matchAll(
    /<style:style(\s[^<>]*?)(?:\/>|>([^]*?)<\/style:style>)/g,
  )) {
    const font = faces.get(attributeOf(properties, 'style:font-name')) ?? attributeOf(properties, 'fo:font-family');
    styles.set(attributeOf(start, 'style:name'), { font, parent: attributeOf(start, 'style:parent-style-name') });
  }
  return (style) => {
    // A style may be based on itself.
    const seen = new Set<string | undefined>();
    for (let at = style; at !== undefined && !seen.has(at); at = styles.get(at)?.parent) {
      const font = styles.get(at)?.font;
      if (font !== undefined) return font;
      seen.add(at);
    }
    return undefined;
  };
}
