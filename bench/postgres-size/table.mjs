// The figures as a table of Markdown.
import { show } from "../cells.mjs";

/** A row for each operation and size, with ratios to SQLite, to the bare query, and to the first size. */
export function printTable(sizes, figures) {
  console.log(
    "\n| Milliseconds, medians | Messages | Fresh | After ANALYZE | SQLite | Fresh ÷ SQLite | Fresh ÷ bare query | Fresh ÷ smallest |",
  );
  console.log("| --- | --: | --: | --: | --: | --: | --: | --: |");
  const [smallest] = figures;
  for (const name of Object.keys(smallest.fresh)) {
    for (const [index, { fresh, analyzed, sqlite, bare }] of figures.entries()) {
      const ratio = (to) => (to === undefined ? "" : show(fresh[name] / to, ""));
      const times = [fresh, analyzed, sqlite].map((medians) => show(medians[name], ""));
      const ratios = [sqlite[name], bare[name], index === 0 ? undefined : smallest.fresh[name]].map(ratio);
      console.log(`| ${[name, sizes[index].toLocaleString("en"), ...times, ...ratios].join(" | ")} |`);
    }
  }
}
