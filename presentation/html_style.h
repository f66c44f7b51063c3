#pragma once

#include <string_view>

namespace horizon {

// The style sheet of HtmlPage. A wide or long table scrolls inside its own box, with a sticky
// header. The box of a figure has the same background as the drawing in each theme.
inline constexpr std::string_view kHtmlStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --raised: #f6f7f9; --ink: #1f2328; --soft: #57606a; --line: #d8dde3;
  --link: #0063a6; --good: #0b6b45; --warn: #8a5300; --bad: #b3261e;
  --good-paper: #e5f5ed; --warn-paper: #fdf1dc; --bad-paper: #fde8e6;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #16181d; --raised: #1e2127; --ink: #e6e9ee; --soft: #a9b1ba; --line: #353b44;
    --link: #6cb6f5; --good: #6fd6a6; --warn: #f0b860; --bad: #ff9a90;
    --good-paper: #17332a; --warn-paper: #3a2d14; --bad-paper: #42211f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 1240px; margin: 0 auto; padding: 1.5rem 1.5rem 4rem; }
h1 {
  font-size: 1.8rem; line-height: 1.2; margin: 0 0 0.75rem; letter-spacing: -0.01em;
  overflow-wrap: anywhere;
}
h2 {
  font-size: 1.4rem; line-height: 1.3; margin: 2.5rem 0 0.75rem; padding-top: 1rem;
  border-top: 1px solid var(--line);
}
h1 + p + section h2, h1 + section h2 { margin-top: 0.5rem; padding-top: 0; border-top: 0; }
h3 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
p { margin: 0 0 0.9rem; max-width: 60rem; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav {
  margin: 1.75rem 0; padding: 1rem 1.25rem; background: var(--raised);
  border: 1px solid var(--line); border-radius: 8px;
}
nav strong { font-size: 0.85rem; color: var(--soft); }
nav ol { margin: 0.4rem 0 0; padding-left: 1.4rem; columns: 2 18rem; }
.note {
  padding: 0.6rem 0.9rem; border-left: 3px solid var(--line); background: var(--raised);
  color: var(--soft); font-size: 0.94rem; border-radius: 0 6px 6px 0;
}
pre {
  margin: 0 0 0.9rem; padding: 0.75rem 1rem; overflow-x: auto; background: var(--raised);
  border: 1px solid var(--line); border-radius: 6px;
  font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
.table {
  margin: 1rem 0 1.5rem; overflow: auto; max-height: 60rem; width: fit-content; max-width: 100%;
  border: 1px solid var(--line); border-radius: 8px;
}
table { border-collapse: separate; border-spacing: 0; font-size: 0.88rem; line-height: 1.4; }
caption {
  padding: 0.6rem 0.75rem; text-align: left; font-weight: 600; border-bottom: 1px solid var(--line);
}
th, td {
  padding: 0.4rem 0.75rem; text-align: left; vertical-align: baseline;
  border-bottom: 1px solid var(--line);
}
th {
  position: sticky; top: 0; background: var(--raised); color: var(--soft); font-weight: 600;
  white-space: nowrap;
}
td { max-width: 34rem; }
td:first-child { min-width: 12rem; }
td.good, td.warn, td.bad { white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--raised); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.good { color: var(--good); background: var(--good-paper); }
td.warn { color: var(--warn); background: var(--warn-paper); }
td.bad { color: var(--bad); background: var(--bad-paper); font-weight: 600; }
td.muted, th.muted { color: var(--soft); font-weight: 400; }
[title] { cursor: help; }
figure {
  margin: 1.25rem 0 1.75rem; padding: 0.75rem; max-width: 860px; background: var(--paper);
  border: 1px solid var(--line); border-radius: 8px;
}
figure svg, figure img { display: block; width: 100%; height: auto; }
.drawing { overflow-x: auto; }
.narrow { display: none; }
figcaption { margin: 0.5rem 0.25rem 0; color: var(--soft); font-size: 0.9rem; }
/* A chart keeps text of 12 pixels: where the wide drawing would have to shrink, the narrow one is
   shown, and a chart without one scrolls inside its own box. */
@media screen and (max-width: 820px) {
  main { padding: 1rem 0.75rem 3rem; }
  h1 { font-size: 1.4rem; }
  h2 { font-size: 1.2rem; margin-top: 2rem; }
  th, td { padding: 0.35rem 0.5rem; }
  .table { max-height: none; }
  td, td:first-child { min-width: 7rem; }
  td.number { min-width: 0; }
  td.good, td.warn, td.bad { white-space: normal; }
  figure { padding: 0.4rem; }
  .drawing svg, .drawing img { width: 720px; }
  .wide { display: none; }
  .narrow { display: block; max-width: 440px; }
}
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  nav, figure, .note, tr { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  thead { display: table-header-group; }
  th { position: static; }
  .table { overflow: visible; max-height: none; max-width: none; }
  table { font-size: 8.5pt; }
  td, th { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { color: inherit; }
}
)css";

}  // namespace horizon
