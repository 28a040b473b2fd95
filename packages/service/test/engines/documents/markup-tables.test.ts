import { withWholePipeTables, withWholeWikiTables } from '../../../src/engines/documents/markup-tables';

/** Markup tables with rows longer than the first, which readers would cut off. */

describe('a Markdown table', () => {
  it.each([
    ['| a | b |\n|---|---|\n| 1 | 2 | 3 | 4 |', '| a | b |  |  |\n|---|---|--|--|\n| 1 | 2 | 3 | 4 |'],
    ['a | b\n-|-\n1 | 2 | 3', 'a | b|  |\n-|-|--|\n1 | 2 | 3'],
    [
      '> | a |\n> |---|\n> | 1 | 2 |\n\nafter | all | this',
      '> | a |  |\n> |---|--|\n> | 1 | 2 |\n\nafter | all | this',
    ],
  ])('gets the cells that its first row lacks: %j', (text, whole) => expect(withWholePipeTables(text)).toBe(whole));

  it.each([
    '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |',
    '| a \\| x |\n|---|\n| 1 \\| 2 |',
    '```\n| a |\n|---|\n| 1 | 2 |\n```',
    'a paragraph | with a bar\n\n---\n\nb | c | d',
    'Heading\n---\n\ntext | text',
  ])('stays unchanged if it is complete, or not a table: %j', (text) => expect(withWholePipeTables(text)).toBe(text));
});

describe('a MediaWiki table', () => {
  it.each([
    ['{|\n! H\n|-\n| a || b || c\n|}', '{|\n! H\n! \n! \n|-\n| a || b || c\n|}'],
    ['{|\n|-\n| a\n|-\n| b\n| c\n|}', '{|\n|-\n| a\n| \n|-\n| b\n| c\n|}'],
    ['{|\n|+ Title\n| a\n{|\n| x\n|-\n| y || z\n|}\n|}', '{|\n|+ Title\n| a\n{|\n| x\n| \n|-\n| y || z\n|}\n|}'],
  ])('gets the cells that its first row lacks: %j', (text, whole) => expect(withWholeWikiTables(text)).toBe(whole));

  it.each(['{|\n| colspan="2" | a\n|-\n| b || c\n|}', 'no | table', '{|\n|}'])('stays unchanged: %j', (text) => {
    expect(withWholeWikiTables(text)).toBe(text);
  });
});
