/** The page's style sheet. It loads nothing; the page's policy allows it by its hash. */
export const styles = `
:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #ffffff; --sunken: #f4f5f7; --line: #dfe3e8;
  --text: #17202b; --quiet: #566272; --link: #0b57b0;
  --good: #1b7f4d; --bad: #c02f25; --open: #8d5a00; --cancelled: #d49a2a; --skipped: #6f7f92; --unfinished: #b4bdc8; --bar: #3d72b4;
  --bad-back: #fdf0ee; --open-back: #fdf5e3; --good-back: #ecf7f0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161c; --card: #1a2129; --sunken: #222b35; --line: #323d49;
    --text: #e7ecf1; --quiet: #a3b0bd; --link: #84b8f5;
    --good: #5cc48d; --bad: #f58a7f; --open: #e6b455; --cancelled: #e6b455; --skipped: #8b9bac; --unfinished: #55626f; --bar: #6ba1e0;
    --bad-back: #34211f; --open-back: #302818; --good-back: #1a2d24;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
main { max-width: 56rem; margin: 0 auto; padding: 2rem 1.5rem 3rem; }
h1, h2, h3, p, dl, dd, table { margin: 0; }
h2 { font-size: 1.25rem; line-height: 1.3; letter-spacing: -0.01em; margin: 2.5rem 0 0.75rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
code { font: 0.9em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
p code { background: var(--sunken); border-radius: 4px; padding: 0.1em 0.25em; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.5rem; }
.quiet { color: var(--quiet); }
.small { font-size: 0.875rem; }

.kicker { color: var(--quiet); font-size: 0.875rem; }
h1 { font-size: 1rem; font-weight: 600; line-height: 1.4; }
.verdict { display: flex; gap: 0.75rem; margin: 1rem 0 0; font-size: 1.875rem; font-weight: 650; line-height: 1.2; letter-spacing: -0.02em; }
.verdict svg { flex: none; width: 1.2em; height: 1.2em; }
.verdict.good svg { color: var(--good); } .verdict.bad svg { color: var(--bad); } .verdict.open svg { color: var(--open); }
.detail { margin-top: 0.5rem; color: var(--quiet); }
.shares { display: block; margin: 1.5rem 0 0; border-radius: 6px; overflow: hidden; }
.shares .good { fill: var(--good); } .shares .bad { fill: var(--bad); } .shares .cancelled { fill: var(--cancelled); }
.shares .skipped { fill: var(--skipped); } .shares .unfinished { fill: var(--unfinished); }
dl.counts, dl.facts { display: flex; flex-wrap: wrap; gap: 0.75rem 2rem; }
dl.counts { margin-top: 1rem; }
dl.facts { margin-top: 1.25rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
dt { color: var(--quiet); font-size: 0.875rem; }
dd { font-variant-numeric: tabular-nums; }
dl.counts dd { font-size: 1.375rem; font-weight: 600; line-height: 1.3; }
dl.counts dt::before { content: ""; display: inline-block; width: 0.625rem; height: 0.625rem; margin-right: 0.4rem; border-radius: 2px; background: var(--dot); }
dl.plain { margin-top: 0; }
dl.plain dt::before { display: none; }
.dot-good { --dot: var(--good); } .dot-bad { --dot: var(--bad); } .dot-cancelled { --dot: var(--cancelled); }
.dot-skipped { --dot: var(--skipped); } .dot-unfinished { --dot: var(--unfinished); }

.note { margin-top: 1rem; padding: 1rem 1.25rem; border-radius: 12px; border: 1px solid var(--line); border-left: 4px solid var(--open); background: var(--open-back); }
.note h2 { margin: 0 0 0.25rem; font-size: 1.0625rem; }
.note code { background: none; padding: 0; }
.note > * + * { margin-top: 0.5rem; }
.next { margin-bottom: 1rem; }
.group + .next { margin-top: 1rem; }
.command { display: inline-block; padding: 0.35em 0.65em; border: 1px solid var(--line); border-radius: 6px; background: var(--card); user-select: all; }

table { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: 0.9375rem; }
th { text-align: left; font-size: 0.8125rem; font-weight: 500; color: var(--quiet); }
th, td { padding: 0.6rem 0.75rem 0.6rem 0; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; padding-top: 0; padding-bottom: 0.4rem; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.overview .number { width: 5rem; }
.items .item { width: 4.5rem; color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap; }
.items .took { width: 6.5rem; } .items .job { width: 4rem; text-align: right; }
.name { font-weight: 600; }
.folder { display: block; color: var(--quiet); font-size: 0.8125rem; }
.message { display: block; margin-top: 0.2rem; }
.warnings { margin: 0.2rem 0 0; padding-left: 1.1rem; }

.group { margin-top: 1rem; }
.group h3 { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: 1.0625rem; line-height: 1.4; }
.group .count { color: var(--bad); font-variant-numeric: tabular-nums; white-space: nowrap; }
.todo { margin: 0.75rem 0 1.25rem; padding: 0.7rem 0.9rem; border-radius: 8px; background: var(--sunken); }
.todo code { background: var(--card); }
.todo strong { font-weight: 600; }
details { border-top: 1px solid var(--line); }
summary { padding: 0.7rem 0; color: var(--link); cursor: pointer; }
details table { margin-top: 0; }
.more { padding-top: 0.75rem; border-top: 1px solid var(--line); }

.chart { display: block; overflow: visible; margin-top: 1.25rem; font-size: 0.8125rem; }
.chart text { fill: var(--quiet); }
.chart .bars { fill: var(--bar); }
.chart .axis { stroke: var(--quiet); } .chart .grid { stroke: var(--line); }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: 0.875rem; }
footer > * + * { margin-top: 0.35rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }

@media (max-width: 34rem) {
  main { padding: 1rem 0.75rem 2rem; }
  .card { padding: 1.125rem 1rem; }
  .verdict { font-size: 1.5rem; }
  dl.counts, dl.facts { display: grid; grid-template-columns: 1fr 1fr; gap: 0.75rem 1rem; }
  .items .took { display: none; }
  .items .item { width: 3.75rem; padding-right: 0.4rem; font-size: 0.8125rem; } .items .job { width: 3.25rem; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #ffffff; --sunken: #f4f5f7; --line: #c9d0d8; --text: #000000; --quiet: #444c56; --link: #000000;
    --good: #1b7f4d; --bad: #c02f25; --open: #8d5a00; --cancelled: #d49a2a; --skipped: #6f7f92; --unfinished: #b4bdc8; --bar: #3d72b4; --open-back: #ffffff;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .card { padding: 0.75rem 1rem; border-radius: 6px; }
  h2, h3, .todo, thead { break-after: avoid; }
  tr, .note, .chart { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary { display: none; }
}
`;
