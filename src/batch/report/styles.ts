/** The page's style sheet. It loads nothing; the page's policy allows it by its hash. */
export const styles = `
:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #ffffff; --line: #dfe3e8; --text: #17202b; --quiet: #566272; --link: #0b57b0;
  --good: #1b7f4d; --bad: #c02f25; --open: #8d5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161c; --card: #1a2129; --line: #323d49; --text: #e7ecf1; --quiet: #a3b0bd; --link: #84b8f5;
    --good: #5cc48d; --bad: #f58a7f; --open: #e6b455;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 56rem; margin: 0 auto; padding: 2rem 1rem; }
h1, h3 { font-size: 1.0625rem; margin: 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; }
p { margin: 0.25rem 0; }
a { color: var(--link); }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
.card, .note { margin-top: 1rem; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.note { border-left: 4px solid var(--open); }
.note h2, .card h2 { margin: 0; font-size: 1.0625rem; }
.quiet, dt, th { color: var(--quiet); font-size: 0.875rem; font-weight: normal; }
.verdict { margin: 0.5rem 0; font-size: 1.75rem; font-weight: 650; line-height: 1.2; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
svg { display: block; border-radius: 3px; background: var(--line); }
.columns { margin-top: 0.75rem; background: none; }
.bar { margin-top: 0.375rem; }
.done { color: var(--quiet); }
th[scope="row"] { color: inherit; font-size: inherit; }
dl { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin: 1rem 0 0; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
table { width: 100%; margin-top: 0.75rem; border-collapse: collapse; table-layout: fixed; font-size: 0.9375rem; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: 0.5rem 0.75rem 0.5rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
.item, .job { width: 4rem; } .took { width: 6rem; } .drawn { width: 40%; }
@media (max-width: 30rem) { .item { width: 3rem; } .job { width: 3.5rem; } .took { width: 4rem; } .drawn { width: 25%; padding-right: 0; } }
footer { margin-top: 2rem; }
@media print { :root { color-scheme: light; --page: #ffffff; --text: #000000; } tr, .note { break-inside: avoid; } }
`;
