import { openXml, relation, zip } from './archives';

/** Handwritten PPTX files: slides with text only. */

const namespaces =
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
interface Slide {
  shapes: readonly string[];
  /** Additional shapes (XML). */
  drawn?: string;
  notes?: string;
  /** The ids count from `h0`. */
  links?: readonly string[];
  isHidden?: boolean;
}

interface More {
  /** Shapes of the layout and the master of all slides (XML). */
  readonly layout?: string;
  readonly master?: string;
  /** Attributes of the layout. */
  readonly ofLayout?: string;
}

export function pptx(slides: readonly Slide[], { layout = '', master = '', ofLayout = '' }: More = {}): Buffer {
  const parts = new Map<string, { type: string; xml: string; relations: readonly string[] }>();
  const add = (name: string, type: string, xml: string, ...relations: string[]) =>
    parts.set(`ppt/${name}`, { type, xml, relations });
  slides.forEach(({ shapes, drawn = '', notes, links = [], isHidden = false }, index) => {
    const slide = `slides/slide${index + 1}.xml`;
    const xml = `<p:sld ${namespaces}${isHidden ? ' show="0"' : ''}>${tree(shapes.map((text) => shape(text)).join('') + drawn)}</p:sld>`;
    const outside = links.map((link, n) =>
      relation(`h${n}`, 'hyperlink', link).replace('/>', ' TargetMode="External"/>'),
    );
    const beside =
      notes === undefined ? [] : [relation('n', 'notesSlide', `../notesSlides/notesSlide${index + 1}.xml`)];
    add(slide, 'slide', xml, relation('l', 'slideLayout', '../slideLayouts/slideLayout1.xml'), ...beside, ...outside);
    if (notes === undefined) return;
    const xmlOfNotes = `<p:notes ${namespaces}>${tree(shape(notes) + shape('', 1, '<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:t>1</a:t></a:fld>'))}</p:notes>`;
    add(`notesSlides/notesSlide${index + 1}.xml`, 'notesSlide', xmlOfNotes, relation('s', 'slide', `../${slide}`));
  });
  add(
    'slideLayouts/slideLayout1.xml',
    'slideLayout',
    `<p:sldLayout ${namespaces} ${ofLayout}>${tree(layout)}</p:sldLayout>`,
    relation('m', 'slideMaster', '../slideMasters/slideMaster1.xml'),
  );
  const colours =
    'bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"';
  add(
    'slideMasters/slideMaster1.xml',
    'slideMaster',
    `<p:sldMaster ${namespaces}>${tree(master)}<p:clrMap ${colours}/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="l"/></p:sldLayoutIdLst></p:sldMaster>`,
    relation('l', 'slideLayout', '../slideLayouts/slideLayout1.xml'),
  );
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="s${index + 1}"/>`).join('');
  add(
    'presentation.xml',
    'presentation.main',
    `<p:presentation ${namespaces}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="m"/></p:sldMasterIdLst><p:sldIdLst>${ids}</p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>`,
    relation('m', 'slideMaster', 'slideMasters/slideMaster1.xml'),
    ...slides.map((_, index) => relation(`s${index + 1}`, 'slide', `slides/slide${index + 1}.xml`)),
  );
  return zip(openXml('ppt/presentation.xml', 'presentationml', parts));
}

function tree(shapes: string): string {
  return `<p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>${shapes}</p:spTree></p:cSld>`;
}

export function shape(text: string, index = 0, run = `<a:r><a:t>${text}</a:t></a:r>`): string {
  return `<p:sp><p:nvSpPr><p:cNvPr id="${index + 2}" name="${text}"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm><a:off x="900000" y="${900_000 * (index + 1)}"/><a:ext cx="5000000" cy="800000"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr/><a:p>${run}</a:p></p:txBody></p:sp>`;
}
