// npm run bench -- reliability [--quick] [--only 5,9] [--on SQLite,workerd] [--publish]
//
// Does to stemma what may happen to it, thousands of times, and counts what is lost. Prints the table; a whole run, or `--publish`,
// writes it to docs/background/reliability.md, which says how to read it. Ends with 1 where a row misses its target.
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundlePrograms } from "./tools/bundle.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    on: { type: "string" },
    // Puts the figures where the docs show them. Without --quick that is done anyway.
    publish: { type: "boolean", default: false },
  },
});
const folder = await bundlePrograms();
try {
  const { runRows } = await import(`${folder}/run.mjs`);
  const { quick, only, on, publish } = values;
  const missed = await runRows({
    folder,
    quick,
    only: only?.split(","),
    on: on?.split(","),
    publish: publish || !quick,
  });
  process.exitCode = missed > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
