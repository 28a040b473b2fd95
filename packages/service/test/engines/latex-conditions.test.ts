import { readableLatex } from '../../src/engines/latex';
import { withoutFalse } from '../../src/engines/latex-conditions';

/** What a condition of TeX leaves out. */

it.each([
  [String.raw`a \iffalse b \else c \fi d`, 'a c d'],
  [String.raw`a \iftrue b \else c \fi d`, 'a b d'],
  ['a\n\\iffalse\nb\n\n\\ifx c\\else d\\fi e\n\\fi\nf', 'a\nf'],
  [String.raw`\iftrue a\iffalse b\else c\fi\else d\iftrue e\fi\fi f`, 'acf'],
  [String.raw`\newif\ifdraft\iffalse\ifdraft a\fi b\fi c`, String.raw`\newif\ifdraft c`],
  [
    String.raw`\iffalse % \fi
    a\fi b`,
    'b',
  ],
  [String.raw`\em\iftrue a\fi`, String.raw`\em a`],
  [
    String.raw`$a \iff b$ \ifthenelse{a}{b}{c} \verb|\iffalse|`,
    String.raw`$a \iff b$ \ifthenelse{a}{b}{c} \verb|\iffalse|`,
  ],
  [String.raw`\iffalse a`, String.raw`\iffalse a`],
  [String.raw`a\fi \iffalse b\fi`, String.raw`a\fi \iffalse b\fi`],
])('of %s is left %s', (text, left) => {
  expect(withoutFalse(text)).toEqual({ text: left, warnings: {} });
});

it('is told of those that TeX alone can decide, in the text of the document', () => {
  const body = String.raw`\ifpdf\fi\begin{document}\ifx\a\b c\else d\fi\ifnum1<2 e\fi\iffalse\ifodd3 f\fi\fi`;
  expect(withoutFalse(body).warnings).toEqual({
    CONDITIONS_NOT_DECIDED: expect.stringMatching(/^What 2 condition\(s\) .*: \\ifx, \\ifnum\. Remove/) as string,
  });
});

it.each(['\\item[', '\\begin{verbatim}', '\\begin{lstlisting}[', '\\begin{tabbing}', '\\iffalse ', '\\fi'])(
  '%s again and again takes no longer than its length',
  (start) => {
    const text = start.repeat(120_000 / start.length);
    const began = performance.now();
    readableLatex(withoutFalse(text).text);
    expect(performance.now() - began).toBeLessThan(2_500);
  },
);
