// The figures as a table of Markdown.
import { show } from "../cells.mjs";

/** What a search may take of what it takes on SQLite and of the bare query, and another call of what it takes at the first size. */
const AT_MOST = { sqlite: 3, bare: 1.5, smallest: 1.3 };

const HEAD = [
  "Milliseconds, medians",
  "Messages",
  "Fresh",
  "After `ANALYZE`",
  "SQLite",
  `÷ SQLite, ≤ ${AT_MOST.sqlite}`,
  `÷ bare query, ≤ ${AT_MOST.bare}`,
  `÷ smallest, ≤ ${AT_MOST.smallest}`,
];

/** A row for each operation and size. Ratios are of the slower one, with statistics or without; in bold is what misses its goal. */
export function tableOf(sizes, figures) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const [smallest] = figures;
  const rows = Object.keys(smallest.fresh).flatMap((name) =>
    figures.map(({ fresh, analyzed, sqlite, bare }, index) => {
      const slower = Math.max(fresh[name], analyzed[name]);
      const isSearch = name.startsWith("search");
      const ratio = (to, atMost) => {
        if (to === undefined) return "";
        const text = show(slower / to, "×");
        return slower / to > atMost ? `**${text}**` : text;
      };
      return line([
        name,
        sizes[index].toLocaleString("en"),
        ...[fresh, analyzed, sqlite].map((medians) => show(medians[name], "")),
        isSearch ? ratio(sqlite[name], AT_MOST.sqlite) : "",
        ratio(bare[name], AT_MOST.bare),
        isSearch || index === 0 ? "" : ratio(Math.max(smallest.fresh[name], smallest.analyzed[name]), AT_MOST.smallest),
      ]);
    }),
  );
  return [line(HEAD), `| --- |${" --: |".repeat(HEAD.length - 1)}`, ...rows].join("\n");
}
