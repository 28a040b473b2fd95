/** Lua filters that pandoc runs between reading and writing, to keep what its own writers would drop. */

import { numberMark } from '../office/rtf-text';

/** Writers with captions for pictures only, for nothing, and for all but tables. */
const withoutCaptions = /^(asciidoc|beamer|fb2|latex|ms|pptx|rst)$/;
const withoutAnyCaptions = /^(jira|mediawiki|plain|vimdoc|xwiki)$/;
const withoutTableCaptions = /^(djot|jira|muse|tei|xwiki)$/;
/** When (in Lua) a writer cannot put blocks into a cell: always, beyond a number of columns, or if it holds a table. */
const flatWhen: readonly [writers: RegExp, when: string][] = [
  [/^(bbcode|markua|vimdoc)$/, 'true'],
  [/^(plain|ansi)$/, '#each.colspecs > 9'],
  [/^asciidoc$/, "cell.contents:find_if(function (block) return block.t == 'Table' end)"],
];
const withCitations = /^(markdown|latex|beamer|org|native|json|xml|typst$)/;

/** Writers that drop the head of a document: all of it, its abstract, its subtitle, its date. */
const withoutHead =
  /^(bbcode|commonmark|dokuwiki|icml|ipynb|jira|markdown_(phpextra|strict)|markua|mediawiki|textile|xwiki|zimwiki)$/;
const withoutAbstract = /^(ansi|djot|docbook\d?|man|muse|opml|plain|revealjs|rtf|slidy|tei|texinfo)$/;
const withoutSubtitle = /^(asciidoc|djot|fb2|man|ms|opml|org|plain|rtf|tei|texinfo|vimdoc)$/;
const withoutDate = /^(jats(_\w+)?|opml|vimdoc)$/;
/** Writers that show the head of a document only below a title, and the parts of it that they drop without one. */
const besideTitle: readonly [writers: RegExp, names: readonly string[]][] = [
  [/^html[45]$/, ['subtitle', 'author', 'date', 'abstract']],
  [/^(revealjs|slidy)$/, ['subtitle', 'author', 'date']],
  [/^(beamer|context|latex|rst)$/, ['author', 'date']],
];

/** A picture whose data is there keeps its caption. */
const pictures = `
  local inlines = #figure.content == 1 and (first.t == 'Plain' or first.t == 'Para') and first.content or {}
  local image = #inlines == 1 and inlines[1].t == 'Image' and inlines[1].src
  if image and (image:match('^data:') or pandoc.mediabag.lookup(image)) then return nil end`;
const ofTable = `
  if #figure.content == 1 and first.t == 'Table' and #first.caption.long == 0 then
    first.caption = figure.caption
    return first
  end`;
const tables = `
function Table(each)
  local caption = each.caption.long
  each.caption.long = {}
  return pandoc.Blocks { each } .. caption
end`;

/** OPML has text below headings only. */
const heading = `
  local first = document.blocks[1]
  if first and first.t ~= 'Header' then document.blocks:insert(1, pandoc.Header(1, {})) end`;

/** Moves the head of a document into its text: `names` always, `untitled` if it has no title. */
function headOf(names: readonly string[], untitled: readonly string[], writer: string): string {
  return `
function Pandoc(document)
  local head = pandoc.Blocks {}
  local function add(value, name)
    local kind = pandoc.utils.type(value)
    if kind == 'Blocks' then head:extend(value)
    elseif kind == 'List' then for _, each in ipairs(value) do add(each, name) end
    elseif kind == 'table' then add(value.name, name)
    elseif kind == 'Inlines' then head:insert(name == 'title' and pandoc.Header(1, value) or pandoc.Para(value)) end
  end
  local function addAll(names)
    for _, name in ipairs(names) do add(document.meta[name], name) end
  end
  if not document.meta.title then addAll(${luaList(untitled)}) end
  addAll(${luaList(names)})
  document.blocks = head .. document.blocks${writer === 'opml' ? heading : ''}
  return document
end`;
}

function luaList(names: readonly string[]): string {
  return `{ ${names.map((name) => `'${name}'`).join(', ')} }`;
}

/** Shows LaTeX citations without a bibliography as the keys that they cite. */
const citations = `
function Cite(citation)
  local only = citation.content[1]
  if #citation.content ~= 1 or only.t ~= 'RawInline' then return nil end
  local names = citation.citations:map(function (each) return each.id end)
  return pandoc.Str('[' .. table.concat(names, ', ') .. ']')
end`;

/** Slides show no table inside nested blocks. */
const divisions = `
function Div(div)
  local kept = {'column', 'columns', 'incremental', 'nonincremental', 'notes'}
  for _, class in ipairs(div.classes) do
    if pandoc.List.includes(kept, class) then return nil end
  end
  return div.content
end`;

/** Joins several blocks, or one that is no paragraph, into one. */
const flat = `
local function flat(blocks)
  local only = blocks[1]
  if #blocks < 2 and (not only or only.t == 'Plain' or only.t == 'Para') then return blocks end
  local inlines = pandoc.utils.blocks_to_inlines(blocks, { pandoc.Space() })
  return { pandoc.Plain(inlines:walk { LineBreak = function () return pandoc.Space() end }) }
end`;
/** `when`: Lua condition under which a cell is flattened. */
const flatCells = (when: string) => `${flat}
function Table(each)
  local function flatRows(rows)
    for _, row in ipairs(rows) do
      for _, cell in ipairs(row.cells) do
        if ${when} then cell.contents = flat(cell.contents) end
      end
    end
  end
  flatRows(each.head.rows)
  for _, body in ipairs(each.bodies) do flatRows(body.head) flatRows(body.body) end
  flatRows(each.foot.rows)
  return each
end`;
const flatNotes = `${flat}
function Note(note)
  note.content = flat(note.content)
  return note
end`;

/** Writers that keep the templates of a wiki, whose text is elsewhere; all others drop them. */
const withTemplates = /^(markdown|mediawiki)$/;
const templates = `
function RawInline(raw)
  if raw.format == 'mediawiki' then pandoc.log.warn(raw.text) end
end
RawBlock = RawInline`;

/** Markup that can hold LaTeX, which other writers drop, some in silence: it is read, and what can't be read is reported. */
const withLatex = /^(ipynb|markdown|org|rst)/;
const keepsLatex = /^(beamer|json|latex|markdown$|native|org|rst)/;
const readLatex = `
local function drop(raw)
  pandoc.log.warn(raw.text)
  return {}
end
local function reference(raw)
  local inlines = pandoc.utils.blocks_to_inlines(pandoc.read(raw.text, 'latex').blocks)
  return #inlines > 0 and inlines or drop(raw)
end
local function read(raw)
  if not raw.format:match('tex$') then return nil end
  local isRead, document = pcall(pandoc.read, raw.text, 'latex+raw_tex')
  if not isRead then return pandoc.Blocks(drop(raw)) end
  return document.blocks:walk { RawBlock = drop, RawInline = reference }
end
RawBlock = read
function RawInline(raw)
  local blocks = read(raw)
  return blocks and pandoc.utils.blocks_to_inlines(blocks)
end`;

/** Lets lists of RTF continue after an interruption. Runs before all other functions. */
const listNumbers = `
local function numberOf(span)
  return span and span.t == 'Span' and span.identifier:match('^${numberMark}(%d+)$')
end
local function start(list)
  local first = list.content[1][1]
  local number = first and first.content and numberOf(first.content[1])
  if number then list.start = tonumber(number) end
  return list
end
local function drop(span)
  if numberOf(span) then return {} end
end
return { { OrderedList = start }, { Span = drop },
  { Div = Div, Figure = Figure, Note = Note, Pandoc = Pandoc, Table = Table } }`;

/** The filter for a reader and a writer; undefined if they need none. */
export function filterFor({ reader, writer }: { reader: string; writer: string }): string | undefined {
  const hasNone = withoutAnyCaptions.test(writer);
  const hasTables = !withoutTableCaptions.test(writer);
  const parts = hasTables ? [] : [tables];
  if (hasNone || withoutCaptions.test(writer)) {
    parts.push(
      '\nfunction Figure(figure)\n  local first = figure.content[1]',
      hasNone ? '' : pictures,
      hasTables ? ofTable : '',
    );
    parts.push('\n  return figure.content .. figure.caption.long\nend');
  }
  const all = withoutHead.test(writer);
  const names = all ? ['title', 'subtitle', 'author', 'date', 'abstract'] : [];
  if (!all && withoutSubtitle.test(writer)) names.push('subtitle');
  if (withoutDate.test(writer)) names.push('date');
  if (!all && withoutAbstract.test(writer)) names.push('abstract');
  const untitled = besideTitle.find(([writers]) => writers.test(writer))?.[1] ?? [];
  // The title of an HTML page is not part of its text.
  const isPage = /^(html|epub)$/.test(reader);
  const [above, alone] = isPage ? [[], []] : [names, untitled];
  if (above.length + alone.length > 0 || writer === 'opml') parts.push(headOf(above, alone, writer));
  const when = flatWhen.find(([writers]) => writers.test(writer))?.[1];
  if (when !== undefined) parts.push(flatCells(when));
  if (writer === 'asciidoc') parts.push(flatNotes);
  if (writer === 'pptx') parts.push(divisions);
  if (reader === 'latex' && !withCitations.test(writer)) parts.push(citations);
  if (reader === 'mediawiki' && !withTemplates.test(writer)) parts.push(templates);
  if (withLatex.test(reader) && !keepsLatex.test(writer)) parts.push(readLatex);
  if (reader === 'rtf') parts.push(listNumbers);
  return parts.length === 0 ? undefined : parts.join('');
}
