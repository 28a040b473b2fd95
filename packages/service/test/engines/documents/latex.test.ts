import { readableLatex } from '../../../src/engines/documents/latex';

it.each(['\\item[', '\\begin{verbatim}', '\\begin{lstlisting}[', '\\begin{tabbing}'])(
  'repeated %s takes linear time',
  (start) => {
    const text = start.repeat(120_000 / start.length);
    const began = performance.now();
    readableLatex(text);
    expect(performance.now() - began).toBeLessThan(2_500);
  },
);
