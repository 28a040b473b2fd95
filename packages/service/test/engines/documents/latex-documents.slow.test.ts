import { engineNamesOfNpm } from '../../../src/engines/engine';
import { serviceOfAllTests } from '../../support';
import { convertingWith } from '../converted';

const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNamesOfNpm });

const converted = convertingWith(running.client);

describe('LaTeX', () => {
  const latex = (body: string, output?: string) =>
    converted(
      'a.tex',
      `\\documentclass{article}\\ifodd1\\else\\fi\n\\begin{document}\n${body}\n\\end{document}\n`,
      output,
    );

  it('drops the text of false conditions without a warning', async () => {
    const gone = String.raw`\begin{figure}\caption{Gone}\end{figure}`;
    expect(await latex(String.raw`Kept \iffalse ${gone}\else and kept\fi`)).toEqual({
      text: 'Kept and kept',
      warning: {},
    });
  });

  it('names glossary commands, and conditions that only TeX can decide, and keeps all their branches', async () => {
    const { text, warning } = await latex(
      String.raw`\newacronym{gnu}{GNU}{GNU is Not Unix}\gls{gnu} \ifx\u\u b \else c \fi \iffalse\ifodd1 d\fi e\fi`,
    );
    expect(text).toContain('gnu');
    expect(warning).toEqual({
      CONDITIONS_NOT_DECIDED: expect.stringMatching(/^What 2 condition\(s\) .*: \\ifx\. Remove/) as string,
      COMMANDS_LOST: expect.stringMatching(/^1 LaTeX command\(s\) .*: \\newacronym\. Define/) as string,
    });
  });

  it.each([
    ['\\fbox{\\begin{minipage}{3cm}Framed\n\ntwice\\end{minipage}}', 'Framed twice'],
    [
      'a \\makebox[2cm][c]{made} \\raisebox{1pt}[2pt]{raised} \\resizebox{3cm}{!}{b} 5\\,\\texteuro',
      'a made raised b 5 €',
    ],
    ['\\rotatebox[origin=c]{90}{turned} \\nicefrac{1}{2} \\verb|\\fbox{c}|', 'turned 1/2 \\fbox{c}'],
    ['a\\marginpar{Beside}\\todo[inline]{Later}', 'a[1][2] [1] Beside [2] Later'],
    ['\\newcommand{\\todo}[1]{own #1}\\todo{a}', 'own a'],
    ['\\begin{itemize}\\item[(a)] one \\item[--] two\\end{itemize}', '- (a) one - two'],
    ['\\begin{description}\\item[term] text\\end{description}', 'term text'],
    ['\\begin{tabbing}set \\= tabs \\kill a \\= b \\\\ c \\> d \\end{tabbing}', 'a b c d'],
    ['\\begin{lstlisting}[language=C, caption={[short]Listed, once}]\ncode\n\\end{lstlisting}', 'Listed, once code'],
    ['\\begin{wrapfigure}[9]{r}{3cm}\\includegraphics{a}\\caption{Wrapped}\\end{wrapfigure}', 'Wrapped'],
    ['\\begin{table*}\\caption{Wide}\\begin{tabular}{l}a\\end{tabular}\\end{table*}', '--- a --- : Wide'],
    ['\\begin{figure}\\begin{tabular}{l}a\\end{tabular}\\caption{Of table}\\end{figure}', '--- a --- : Of table'],
    ['As in \\cite{one,two}', 'As in [one, two]'],
    ['\\let\\thefootnote\\relax\\footnotetext{Funded.} a', '[1] a [1] Funded.'],
    ['a\\footnotemark\n\nb\\footnotetext{Marked.}', 'a[1] b [1] Marked.'],
  ])('%s is read as %s', async (body, text) => {
    const { text: shown, warning } = await latex(body);
    expect(shown).toBe(text);
    expect(Object.keys(warning).filter((name) => name !== 'RESOURCE_NOT_FOUND')).toEqual([]);
  });

  it('reads the entries of a curriculum vitae', async () => {
    const commands = String.raw`\cventry[1em]{2001}{Degree}{School}{City}{}{Studied \begin{itemize}\item well\end{itemize}} \cvitem{Hobby}{Chess} \cvlistdoubleitem{Left}{Right} \cvlanguage{English}{fluent}{daily}`;
    const read = await converted('a.tex', `\\documentclass[11pt]{moderncv}\\begin{document}${commands}\\end{document}`);
    const text = '2001 Degree School City Studied - well Hobby Chess Left Right English fluent daily';
    expect(read).toEqual({ text, warning: {} });
  });

  it('keeps sender, date and signature of a letter', async () => {
    const said = String.raw`\address{2 Side Road \\ Town}\signature{Jo Writer}\date{1 May}`;
    const body = String.raw`\begin{letter}{Bo \\ Old Road}\opening{Dear Bo,}Thanks.\closing{Yours,}\cc{Al}\end{letter}`;
    const read = await converted('a.tex', `\\documentclass{letter}${said}\\begin{document}${body}\\end{document}`);
    const text = 'Bo Old Road 2 Side Road Town 1 May Dear Bo, Thanks. Yours, Jo Writer cc: Al';
    expect(read).toEqual({ text, warning: {} });
  });

  it('counts and names exactly the commands that are dropped with their text', async () => {
    const { warning } = await latex(
      String.raw`\hspace*{1cm}\pagestyle{plain}\setlength{\a}{1pt}\index{a}\phantom{b}\unknown{} a \cvitem{b}{c} \cvitem{d}{e} \textohmeter \begin{tikzpicture}\node{f};\end{tikzpicture}`,
    );
    expect(warning).toEqual({
      COMMANDS_LOST: expect.stringMatching(
        /^4 LaTeX command\(s\) .*: \\cvitem, \\textohmeter, tikzpicture\. Define them/,
      ) as string,
    });
  });

  it('renders formulas in HTML, and counts those that it cannot render', async () => {
    const { text, warning } = await latex(String.raw`$\frac{a}{b}$ $\nope{c}$ $\nope{d}$ $\nope{e}$`, 'html');
    expect(text).toMatch(/<mfrac><mi>a<\/mi><mi>b<\/mi><\/mfrac>[^]*\$\\nope\{e\}\$/);
    expect(warning).toEqual({
      COULD_NOT_CONVERT_TEX_MATH: expect.stringMatching(/math \\nope\{c\}, .* \(and 2 more\)$/) as string,
    });
  });

  it('names all included files that are missing', async () => {
    const { warning } = await latex(String.raw`a \input{one}\include{two}`);
    expect(warning).toEqual({ RESOURCE_NOT_FOUND: expect.stringContaining('uploaded: one.tex, two.tex.') as string });
  });

  it('counts the captions of a float that has several', async () => {
    const part = (caption: string) => `\\begin{minipage}{3cm}a\\caption{${caption}}\\end{minipage}`;
    expect((await latex(`\\begin{figure}${part('Left')}${part('Right')}\\end{figure}`)).warning).toEqual({
      TEXT_LOST: 'Not in the result: 1 word(s) (LEFT) of the document.',
    });
  });
});
